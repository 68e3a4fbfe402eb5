// Small charts on canvas: points with error bars, lines, axes with round numbers. Sharp on any screen, in the page's ink.

const MARKERS = ["circle", "square", "up", "diamond", "down"];
const DOWN = MARKERS.indexOf("down");
export const drawn = new Map(); // canvas -> how to draw it again
const EDGE = 10; // pixels to the right of the box
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

export function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export function draw(canvas, spec) {
  // what pages that are gone had drawn is let go of, or a day's stars would fill the browser's memory
  for (const each of drawn.keys()) if (!each.isConnected) drawn.delete(each);
  drawn.set(canvas, spec);
  paint(canvas, spec);
}

function repaint() {
  for (const [canvas, spec] of drawn) paint(canvas, spec);
}
let waiting = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(repaint);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

export class Axis {
  constructor(low, high, { log = false, invert = false, name = "", margin = 0.04, ticks = null } = {}) {
    this.log = log;
    this.invert = invert;
    this.name = name;
    this.fixed = ticks;
    let [a, b] = log ? [Math.log(low), Math.log(high)] : [low, high];
    if (!(b > a)) [a, b] = [a - 0.5, a + 0.5];
    const room = (b - a) * margin;
    this.low = a - room;
    this.high = b + room;
  }
  place(value, from, to) {
    const at = ((this.log ? Math.log(value) : value) - this.low) / (this.high - this.low);
    return from + (this.invert ? 1 - at : at) * (to - from);
  }
  value(pixel, from, to) {
    let at = (pixel - from) / (to - from);
    if (this.invert) at = 1 - at;
    const value = this.low + at * (this.high - this.low);
    return this.log ? Math.exp(value) : value;
  }
  ticks(room) {
    if (this.fixed) return this.fixed;
    return this.log ? logTicks(this.low, this.high, room) : roundTicks(this.low, this.high, room);
  }
}

function roundTicks(low, high, room) {
  const rough = (high - low) / Math.max(2, room);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough);
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high + 1e-12; n++) found.push([n * step, (n * step).toFixed(places).replace("-", "−")]);
  return found;
}

function logTicks(low, high, room) {
  const decades = (high - low) / Math.LN10;
  const steps = decades > room ? [1] : decades * 3 > room * 1.6 ? [1] : decades < 1.6 ? [1, 2, 5] : [1, 3];
  const found = [];
  for (let power = Math.floor(low / Math.LN10); power <= high / Math.LN10; power++) {
    for (const step of steps) {
      const value = step * 10 ** power;
      if (Math.log(value) >= low && Math.log(value) <= high) found.push([value, String(+value.toPrecision(3))]);
    }
  }
  return found;
}

export function extent(values, share = 0) {
  // the range of the values; with a share, of all but that share at each end, so that one outlier squeezes nothing
  const sorted = Float64Array.from(values.filter(Number.isFinite)).sort();
  if (!sorted.length) return [0, 1];
  const cut = Math.floor(sorted.length * share);
  return [sorted[cut], sorted[sorted.length - 1 - cut]];
}

function paint(canvas, spec) {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (!width || !height) return;
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  const { x, y } = spec;
  const bare = Boolean(spec.bare);
  const box = bare
    ? { left: 4, right: width - 4, top: 4, bottom: height - 4 }
    : { left: 58, right: width - EDGE, top: spec.top ?? 10, bottom: height - (x.name ? 36 : 22) };
  if (!bare) {
    const widest = Math.max(...y.ticks((box.bottom - box.top) / 34).map(([, text]) => pen.measureText(text).width), 0);
    box.left = Math.max(box.left, Math.ceil(widest) + 24); // room for the axis' name beside long numbers
  }
  const px = value => x.place(value, box.left, box.right);
  const py = value => y.place(value, box.bottom, box.top);
  if (!bare) axes(pen, box, x, y, px, py);
  pen.save();
  pen.beginPath();
  pen.rect(box.left, box.top - 1, box.right - box.left, box.bottom - box.top + 2);
  pen.clip();
  for (const layer of spec.layers) LAYERS[layer.kind](pen, layer, px, py, box);
  pen.restore();
  canvas.chart = { x, y, box };
}

function axes(pen, box, x, y, px, py) {
  pen.strokeStyle = ink("line");
  pen.fillStyle = ink("soft");
  pen.lineWidth = 1;
  pen.textAlign = "center";
  pen.textBaseline = "top";
  for (const [value, text] of x.ticks((box.right - box.left) / 80)) {
    const at = Math.round(px(value)) + 0.5;
    line(pen, at, box.top, at, box.bottom, 0.45);
    const half = pen.measureText(text).width / 2;
    pen.fillText(text, Math.min(at, box.right + EDGE - half), box.bottom + 6); // no number is cut off at the edge
  }
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const [value, text] of y.ticks((box.bottom - box.top) / 34)) {
    const at = Math.round(py(value)) + 0.5;
    line(pen, box.left, at, box.right, at, 0.45);
    pen.fillText(text, box.left - 7, at);
  }
  line(pen, box.left + 0.5, box.top, box.left + 0.5, box.bottom, 1);
  line(pen, box.left, box.bottom + 0.5, box.right, box.bottom + 0.5, 1);
  pen.textAlign = "center";
  if (x.name) {
    pen.textBaseline = "bottom";
    pen.fillText(x.name, (box.left + box.right) / 2, box.bottom + 35);
  }
  if (y.name) {
    pen.save();
    pen.translate(7, (box.top + box.bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.textBaseline = "middle";
    pen.fillText(y.name, 0, 0);
    pen.restore();
  }
}

function line(pen, ax, ay, bx, by, alpha) {
  pen.globalAlpha = alpha;
  pen.beginPath();
  pen.moveTo(ax, ay);
  pen.lineTo(bx, by);
  pen.stroke();
  pen.globalAlpha = 1;
}

const LAYERS = {
  // x, y, error (may be missing), colour, size, marker number
  points(pen, { x, y, error, colour, size = 3, marker = 0, alpha = 0.85, hollow = false }, px, py) {
    pen.fillStyle = pen.strokeStyle = colour;
    if (error) {
      pen.globalAlpha = alpha * 0.45;
      pen.lineWidth = 1;
      pen.beginPath();
      for (let i = 0; i < x.length; i++) {
        const at = px(x[i]);
        pen.moveTo(at, py(y[i] - error[i]));
        pen.lineTo(at, py(y[i] + error[i]));
      }
      pen.stroke();
    }
    pen.globalAlpha = alpha;
    pen.beginPath();
    const shape = MARKERS[marker % MARKERS.length];
    for (let i = 0; i < x.length; i++) mark(pen, shape, px(x[i]), py(y[i]), size);
    if (hollow) pen.stroke();
    else pen.fill();
    pen.globalAlpha = 1;
  },
  line(pen, { x, y, colour, width = 1.2 }, px, py) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.lineJoin = "round";
    pen.beginPath();
    for (let i = 0; i < x.length; i++) pen[i ? "lineTo" : "moveTo"](px(x[i]), py(y[i]));
    pen.stroke();
  },
  upright(pen, { at, colour, text, dashed }, px, py, box) {
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = 1.4;
    pen.setLineDash(dashed ? [3, 4] : []);
    line(pen, px(at), box.top, px(at), box.bottom, 1);
    pen.setLineDash([]);
    if (!text) return;
    pen.textBaseline = "top";
    pen.textAlign = px(at) > box.right - 30 ? "right" : "left";
    pen.fillText(text, px(at) + (pen.textAlign === "left" ? 4 : -4), box.top);
  },
  circle(pen, { at, radius, colour }, px, py) {
    pen.strokeStyle = colour;
    pen.lineWidth = 1.2;
    pen.globalAlpha = 0.8;
    pen.beginPath();
    pen.ellipse(px(at[0]), py(at[1]), Math.abs(px(at[0] + radius) - px(at[0])), Math.abs(py(at[1] + radius) - py(at[1])), 0, 0, 7);
    pen.stroke();
    pen.globalAlpha = 1;
  },
  text(pen, { at, text, colour, align = "center" }, px, py) {
    pen.fillStyle = colour;
    pen.textAlign = align;
    pen.textBaseline = "middle";
    pen.fillText(text, px(at[0]), py(at[1]));
  },
  // the star that is looked at
  target(pen, { at }, px, py) {
    const [x, y] = [px(at[0]), py(at[1])];
    for (const [width, colour] of [[5, ink("paper")], [2, ink("ink")]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.beginPath();
      pen.arc(x, y, 7, 0, 7);
      for (const [a, b] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        pen.moveTo(x + a * 7, y + b * 7);
        pen.lineTo(x + a * 13, y + b * 13);
      }
      pen.stroke();
    }
  },
};

function mark(pen, shape, x, y, size) {
  if (size < 1.8) {
    // too small for a shape, and thousands of rectangles are painted in a fraction of the time
    pen.rect(x - size, y - size, 2 * size, 2 * size);
  } else if (shape === "circle") {
    pen.moveTo(x + size, y);
    pen.arc(x, y, size, 0, 7);
  } else if (shape === "square") {
    pen.rect(x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8);
  } else {
    const way = shape === "down" ? -1 : 1;
    pen.moveTo(x, y - way * size * 1.25);
    pen.lineTo(x + size * 1.15, shape === "diamond" ? y : y + way * size);
    if (shape === "diamond") pen.lineTo(x, y + size * 1.25);
    pen.lineTo(x - size * 1.15, shape === "diamond" ? y : y + way * size);
    pen.closePath();
  }
}

function median(values) {
  const sorted = Float64Array.from(values).sort();
  return sorted.length ? sorted[sorted.length >> 1] : 0;
}

// Pixels of a point: many epochs are drawn smaller.
const pointSize = (count, large = 3.2) => Math.max(1.3, large * Math.min(1, Math.sqrt(260 / Math.max(count, 1))));

function magnitudes(bands, offsets) {
  const values = [];
  bands.forEach((band, number) => band.m.forEach(value => values.push(value - offsets[number])));
  return extent(values, 0.002);
}

// Against time; upper limits are hollow triangles that point to where the star must have been.
export function rawCurve(canvas, bands, limits = []) {
  const all = [...bands, ...limits];
  const times = all.flatMap(band => band.t);
  const size = pointSize(times.length, 2.6);
  draw(canvas, {
    x: new Axis(...extent(times), { name: "MJD (days)", margin: 0.02 }),
    y: new Axis(...magnitudes(all, all.map(() => 0)), { invert: true, name: "magnitude", margin: 0.1 }),
    layers: [
      ...limits.map(band => ({ kind: "points", x: band.t, y: band.m, colour: band.colour, marker: DOWN, hollow: true, size: Math.max(2.2, size), alpha: 0.55 })),
      ...bands.map((band, marker) => ({ kind: "points", x: band.t, y: band.m, error: band.e, colour: band.colour, marker, size })),
    ],
  });
}

export function foldedCurve(canvas, bands, period, { bare = false } = {}) {
  const several = bands.filter(band => band.t.length).length > 1;
  const offsets = bands.map(band => (several || bare ? median(band.m) : 0));
  const count = 2 * bands.reduce((sum, band) => sum + band.t.length, 0);
  const layers = bands.map((band, marker) => {
    const size = band.t.length;
    const x = new Float64Array(2 * size);
    const y = new Float64Array(2 * size);
    const error = new Float64Array(2 * size);
    for (let i = 0; i < size; i++) {
      const cycles = band.t[i] / period;
      const phase = cycles - Math.floor(cycles); // also before day zero
      x[i] = phase;
      x[i + size] = phase + 1;
      y[i] = y[i + size] = band.m[i] - offsets[marker];
      error[i] = error[i + size] = band.e[i];
    }
    return { kind: "points", x, y, error, colour: band.colour, marker, size: pointSize(count, bare ? 2 : 3.4) };
  });
  draw(canvas, {
    bare,
    x: new Axis(0, 2, { name: "phase", margin: 0, ticks: [0, 0.5, 1, 1.5, 2].map(value => [value, String(value)]) }),
    y: new Axis(...magnitudes(bands, offsets), { invert: true, name: several ? "magnitude − median" : "magnitude", margin: 0.12 }),
    layers,
  });
}

export function periodogram(canvas, scan, period, shown) {
  const marks = shown.map((value, number) => ({ kind: "upright", at: value, colour: ink("soft"), text: String(number + 1), dashed: true }));
  draw(canvas, {
    x: new Axis(scan.period[0], scan.period.at(-1), { log: true, name: "period (days)", margin: 0 }),
    y: new Axis(0, 1, { margin: 0.06, ticks: [[0, "0"], [0.5, "½"], [1, "1"]], name: "score" }),
    top: 16,
    layers: [
      { kind: "line", x: scan.period, y: scan.score, colour: ink("accent") },
      ...marks,
      ...(period ? [{ kind: "upright", at: period, colour: ink("warn") }] : []),
    ],
  });
}

export function latentMap(canvas, maps, place) {
  const reach = 1.25 * Math.max(...maps.components.map(each => Math.hypot(...each.place) + each.sigma));
  const beyond = place ? Math.max(reach, 1.1 * Math.hypot(...place)) : reach;
  const wide = canvas.clientWidth / Math.max(canvas.clientHeight, 1);
  draw(canvas, {
    bare: true,
    x: new Axis(-beyond * Math.max(wide, 1), beyond * Math.max(wide, 1), { margin: 0 }),
    y: new Axis(-beyond / Math.min(wide, 1), beyond / Math.min(wide, 1), { margin: 0 }),
    layers: [
      ...byClass(maps.latent, maps.components, 1.7),
      ...maps.components.map(each => ({ kind: "circle", at: each.place, radius: 2 * each.sigma, colour: each.colour })),
      ...maps.components.map(each => ({ kind: "text", at: each.place.map(value => value * 1.18), text: each.name, colour: ink("ink") })),
      ...(place ? [{ kind: "target", at: place }] : []),
    ],
  });
}

export function periodAmplitude(canvas, maps, star, period) {
  const [short, long] = extent(maps.diagram.map(each => each[0]));
  const [small, large] = extent(maps.diagram.map(each => each[1]));
  const shown = period && star.amplitude > 0;
  const all = (a, b, value) => (shown ? [Math.min(a, value), Math.max(b, value)] : [a, b]);
  draw(canvas, {
    x: new Axis(...all(short, long, period), { log: true, name: "period (days)" }),
    y: new Axis(...all(small, large, star.amplitude), { log: true, name: maps.amplitude }),
    layers: [...byClass(maps.diagram, maps.components, 1.8), ...(shown ? [{ kind: "target", at: [period, star.amplitude] }] : [])],
  });
}

function byClass(points, classes, size) {
  return classes.map((each, number) => {
    const own = points.filter(point => point[2] === number);
    return { kind: "points", x: own.map(point => point[0]), y: own.map(point => point[1]), colour: each.colour, marker: number, size, alpha: 0.5 };
  });
}
