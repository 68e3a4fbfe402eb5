// A star's page: its light curve, its period, what the model says, and the keys that answer.

import { extent, foldedCurve, latentMap, periodAmplitude, periodogram, rawCurve } from "./charts.js";
import { h } from "./desk.js";

const FINE = 0.08; // cycles over the whole light curve that one turn of the wheel moves the phase by
const REACH = 3; // the same for the slider's ends

export class StarPage {
  constructor(app, star) {
    this.app = app;
    this.star = star;
    const [first, last] = extent(star.bands.flatMap(band => band.t));
    this.baseline = Math.max(1e-3, last - first);
    this.candidates = star.period ? [star.period] : [];
    this.anchor = this.period = star.answer?.period || star.period || null;
    this.around = null;
    this.element = this.build();
  }

  build() {
    const { star, app } = this;
    this.folded = h("canvas", { class: "folded", role: "img" });
    this.raw = h("canvas", { class: "raw", role: "img", "aria-label": `Light curve of ${star.id} against time` });
    this.scan = h("canvas", { class: "scan", role: "img", "aria-label": "Periodogram; click to fold at a period" });
    this.folded.addEventListener("wheel", event => {
      if (event.ctrlKey || !event.deltaY) return; // the browser's own: larger letters, sideways
      event.preventDefault();
      this.tune(event.deltaY < 0 ? FINE : -FINE);
    }, { passive: false });
    this.scan.addEventListener("click", event => this.pick(event));
    this.typed = h("input", { type: "text", inputmode: "decimal", "aria-label": "period in days", id: "period" });
    this.typed.addEventListener("change", () => this.fold(parseFloat(this.typed.value.replace(",", ".")) || null));
    this.slider = h("input", { type: "range", min: -REACH, max: REACH, step: "any", value: 0, "aria-label": "fine tuning of the period" });
    this.slider.addEventListener("input", () => this.tune(+this.slider.value, true));
    this.buttons = h("span", { class: "periods" });
    this.periodogramCard = h("section", { class: "card rest", hidden: true }, h("h2", {}, "Periodogram"), this.scan);
    const bands = star.bands.filter(band => band.t.length).map(band => {
      const dot = h("i");
      dot.style.background = band.colour;
      return h("li", {}, dot, `${band.band} (${band.t.length})`);
    });
    const curve = h("section", { class: "card curve" },
      h("div", { class: "head" }, h("h1", { id: "star-id" }, star.id), ...this.position()),
      h("ul", { class: "bands", "aria-label": "Bands and epochs" }, ...bands),
      this.folded,
      h("div", { class: "periods" }, h("label", { for: "period", class: "soft" }, "period"), this.typed, "d", this.slider),
      this.buttons);
    const unseen = star.limits.reduce((sum, band) => sum + band.t.length, 0);
    const raw = h("section", { class: "card rest" }, h("h2", {}, "Against time"), this.raw,
      unseen ? h("p", { class: "small soft", id: "unseen" }, `▽ looked for and not seen, ${unseen === 1 ? "once" : `${unseen} times`}: fainter than this (${star.limits.map(band => `${band.band} ${band.t.length}`).join(", ")})`) : null);
    this.latent = h("canvas", { class: "map", role: "img", "aria-label": "Place in the latent map" });
    this.diagram = h("canvas", { class: "map", role: "img", "aria-label": "Period and amplitude among other stars" });
    this.latentCard = h("section", { class: "card rest", hidden: true }, h("h2", {}, "Latent map"), this.latent);
    this.diagramCard = h("section", { class: "card rest", hidden: true }, h("h2", {}, "Period and amplitude"), this.diagram);
    this.unusual = h("dl", { class: "unusual" });
    this.unusualCard = h("section", { class: "card rest", hidden: true }, h("h2", {}, "Unlike its class"), this.unusual);
    this.neighbours = h("div", { class: "neighbours" });
    this.neighbourCard = h("section", { class: "card wide rest", hidden: true }, h("h2", {}, "Nearest labelled stars"), this.neighbours);
    return h("div", { class: "star" },
      h("div", {}, curve, this.periodogramCard, raw),
      h("div", {}, this.say(), this.unusualCard, this.diagramCard, this.latentCard),
      this.neighbourCard);
  }

  position() {
    const { ra, dec } = this.star;
    if (ra === null || dec === null) return [];
    const link = (text, address) => h("a", { href: address, target: "_blank", rel: "noopener noreferrer", class: "small" }, text);
    const at = `${ra.toFixed(5)} ${dec < 0 ? "" : "+"}${dec.toFixed(5)}`;
    return [
      h("span", { class: "soft small" }, at),
      link("Aladin", `https://aladin.cds.unistra.fr/AladinLite/?fov=0.05&target=${encodeURIComponent(at)}`),
      link("SIMBAD", `https://simbad.cds.unistra.fr/simbad/sim-coo?Radius=10&Radius.unit=arcsec&Coord=${encodeURIComponent(at)}`),
    ];
  }

  say() {
    const { star, app } = this;
    const opinion = star.opinion;
    this.dots = {};
    const rows = app.desk.classes.map(({ name, key, colour }) => {
      const share = h("span", { class: opinion ? "share" : "" });
      const chance = opinion?.probability[name];
      if (chance !== undefined && chance !== null) {
        const bar = h("i");
        bar.style.width = `${100 * chance}%`;
        bar.style.background = colour;
        share.append(bar);
      }
      this.dots[name] = share;
      const percent = h("span", { class: "percent" }, chance === undefined || chance === null ? "" : `${Math.round(100 * chance)} %`);
      return this.answerButton(name, key, h("b", {}, name), share, percent);
    });
    const pair = h("div", { class: "pair" }, this.answerButton("OTHER", "o", h("b", {}, "other")), this.answerButton(null, "u", h("b", {}, "unsure")));
    this.note = h("input", { type: "text", class: "note", maxlength: 500, placeholder: "note (n)", "aria-label": "note", value: app.drafts.get(star.id) ?? star.answer?.note ?? "" });
    this.note.addEventListener("change", () => this.noted());
    this.status = h("p", { class: "small saved", id: "status" }, star.answer ? this.answerText(star.answer) : "");
    const facts = h("dl", { class: "facts" });
    const fact = (name, value) => facts.append(h("dt", {}, name), h("dd", {}, value));
    const queued = app.desk.queue.find(each => each.id === star.id);
    if (queued) fact("asked because", queued.why);
    if (opinion) {
      if (opinion.disagreement !== null) fact("members against", `${Math.round(100 * opinion.disagreement)} %`);
      if (opinion.other_score !== null) fact("like no class", opinion.other_score.toFixed(2));
      if (opinion.in_draw) fact("learned from", "yes, the run knows its label");
    }
    if (star.false_alarm !== undefined && star.false_alarm !== null) fact("false alarm", star.false_alarm < 1e-3 ? "< 0.001" : star.false_alarm.toPrecision(2));
    if (star.label) {
      this.known = h("button", { type: "button", class: "small" }, "show (k)");
      this.known.addEventListener("click", () => this.reveal());
      fact("catalogue", this.known);
    }
    return h("section", { class: "card say" }, h("h2", {}, opinion ? "What is it? The model says" : "What is it?"),
      h("div", { class: "classes" }, ...rows, pair), this.note, this.status, facts);
  }

  answerButton(name, key, ...content) {
    const given = this.star.answer && this.star.answer.label === name;
    const button = h("button", { type: "button", "data-label": name ?? "", class: given ? "given" : "" }, h("kbd", {}, key), ...content);
    button.addEventListener("click", event => this.app.answer(name, event.shiftKey));
    return button;
  }

  // A note goes with the answer: it is saved with the next one, or at once where the star is answered already.
  noted() {
    const { answer } = this.star;
    this.app.drafts.set(this.star.id, this.note.value);
    if (answer && this.note.value.trim() !== (answer.note || "")) this.app.answer(answer.label, answer.confidence === "likely", true);
    else if (!answer) this.status.textContent = this.note.value.trim() ? "The note will be saved with your answer." : "";
  }

  answerText({ label, confidence, when }) {
    const what = label === null ? "unsure" : label === "OTHER" ? "other" : label;
    return `Saved: ${what}${confidence === "likely" ? ", likely" : ""} (${new Date(when).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })})`;
  }

  showAnswer(answer) {
    this.star.answer = answer;
    for (const button of this.element.querySelectorAll("[data-label]")) {
      button.classList.toggle("given", Boolean(answer) && (answer.label ?? "") === button.dataset.label);
    }
    this.status.textContent = answer ? this.answerText(answer) : "";
  }

  reveal() {
    if (this.known) this.known.replaceWith(this.star.label);
    this.known = null;
  }

  // Draws what depends on the period; called once the page is in the document.
  fold(period, keepSlider = false) {
    if (period && !(period > 0 && Number.isFinite(period))) period = null;
    this.period = period || this.period;
    if (!keepSlider) {
      this.anchor = this.period;
      this.slider.value = 0;
    }
    this.folded.setAttribute("aria-label", this.period ? `Light curve of ${this.star.id} folded at ${this.period} days` : "no period");
    if (this.period) {
      foldedCurve(this.folded, this.star.bands, this.period);
      this.typed.value = this.period.toPrecision(8).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
    } else rawCurve(this.folded, this.star.bands, this.star.limits);
    this.showButtons();
    if (this.around?.scan) periodogram(this.scan, this.around.scan, this.period, this.candidates);
    if (this.app.maps?.diagram.length) periodAmplitude(this.diagram, this.app.maps, this.star, this.period);
  }

  showButtons() {
    const same = (a, b) => a && b && Math.abs(a / b - 1) < 1e-5;
    const button = (key, text, period, title) => {
      const made = h("button", { type: "button", title, class: same(period, this.period) ? "chosen" : "", disabled: !period }, h("kbd", {}, key), ` ${text}`);
      made.addEventListener("click", () => this.fold(period));
      return made;
    };
    const listed = this.candidates.map((period, number) => button(String(number + 1), number ? period.toPrecision(5) : "best", period, `fold at ${period} days`));
    const current = this.period;
    this.buttons.replaceChildren(...listed,
      button(",", "½ P", current && current / 2, "half of the period shown"),
      button(".", "2 P", current && current * 2, "twice the period shown"));
  }

  tune(cycles, fromSlider = false) {
    if (!this.anchor) return;
    const base = fromSlider ? this.anchor : this.period;
    this.fold(1 / (1 / base + cycles / this.baseline), fromSlider);
  }

  pick(event) {
    // the highest score within some pixels of the click
    const scan = this.around?.scan;
    const chart = this.scan.chart;
    if (!scan || !chart) return;
    const [low, high] = [-5, 5].map(by => chart.x.value(event.offsetX + by, chart.box.left, chart.box.right));
    let best = -1;
    scan.period.forEach((period, i) => {
      if (period >= low && period <= high && (best < 0 || scan.score[i] > scan.score[best])) best = i;
    });
    if (best >= 0) this.fold(scan.period[best]);
  }

  paint() {
    this.fold(this.period);
    rawCurve(this.raw, this.star.bands, this.star.limits);
    this.showMaps();
  }

  showMaps() {
    const maps = this.app.maps;
    if (!maps) return;
    this.diagramCard.hidden = !maps.diagram.length;
    if (maps.diagram.length) periodAmplitude(this.diagram, maps, this.star, this.period);
    this.latentCard.hidden = false;
    latentMap(this.latent, maps, this.around?.latent);
  }

  showAround(around) {
    this.around = around;
    if (around.scan) {
      this.candidates = [...(this.star.period ? [this.star.period] : []), ...around.scan.candidates].slice(0, 6);
      this.periodogramCard.hidden = false;
      if (!this.period) this.fold(this.candidates[0]);
      periodogram(this.scan, around.scan, this.period, this.candidates);
      this.showButtons();
    }
    for (const [name, values] of Object.entries(around.members || {})) {
      for (const value of values) {
        const dot = h("u");
        dot.style.left = `${100 * value}%`;
        this.dots[name]?.append(dot);
      }
    }
    if (around.unusual?.length) {
      this.unusualCard.hidden = false;
      this.unusual.replaceChildren(...around.unusual.flatMap(({ feature, sigmas }) => [
        h("dt", {}, feature), h("dd", {}, `${sigmas > 0 ? "+" : "−"}${Math.abs(sigmas)} σ`),
      ]));
    }
    if (around.neighbours?.length) {
      this.neighbourCard.hidden = false;
      const cards = around.neighbours.map(near => {
        const canvas = h("canvas", { role: "img", "aria-label": `Folded light curve of ${near.id}` });
        const text = h("figcaption", {}, h("b", {}, near.label), ` ${near.survey} `, h("span", { class: "soft" }, near.id));
        if (near.period) text.append(h("span", { class: "soft" }, ` · ${near.period.toPrecision(4)} d`));
        return [h("figure", {}, canvas, text), () => (near.period ? foldedCurve(canvas, near.bands, near.period, { bare: true }) : rawCurve(canvas, near.bands))];
      });
      this.neighbours.replaceChildren(...cards.map(([figure]) => figure));
      cards.forEach(([, drawIt]) => drawIt());
    }
    this.showMaps();
  }
}
