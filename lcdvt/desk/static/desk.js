// The desk: which page is shown, what the keys do, what is saved.

import { Axis, draw, ink } from "./charts.js";
import { Outbox, get, post } from "./server.js";
import { StarPage } from "./star.js";
import { TablePage } from "./table.js";

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === undefined || value === null) continue;
    if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

const KEPT = 30; // stars in the page's memory
const POLL = 700; // milliseconds between two looks at a training

class App {
  constructor() {
    this.main = document.getElementById("main");
    this.bar = document.getElementById("bar");
    this.banner = document.getElementById("banner");
    this.stars = new Map();
    this.drafts = new Map(); // notes by star: written by a person, so that none is forgotten when its star is
    this.maps = null;
    this.place = null; // in the table's order, where a star was opened from the table
    this.page = null;
    this.table = null;
    this.shown = 0; // counts what was shown, so that what comes late does not take a later page's place
  }

  async start() {
    const asked = this.askedFor();
    if (asked) this.fetch(asked);
    this.desk = await get("desk");
    document.title = `${this.desk.survey} – lcdvt`;
    this.outbox = new Outbox(this.desk.file, {
      saved: (path, body, found) => this.saved(path, body, found),
      refused: (path, body, message) => this.refused(path, body, message),
      waiting: (count, reason) => this.wait(count, reason),
    });
    addEventListener("hashchange", () => this.route());
    addEventListener("keydown", event => this.key(event));
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.catchUp(); });
    if (this.outbox.records.length) await this.outbox.flush();
    if (this.desk.run) this.loadMaps();
    if (this.desk.retraining.state === "running") this.follow();
    await this.route();
  }

  loadMaps() {
    get("maps").then(maps => {
      this.maps = maps;
      this.page?.showMaps?.();
    }).catch(error => this.tell(error.message, true));
  }

  // The star that the address names.
  askedFor() {
    if (!location.hash.startsWith("#star=")) return null;
    try {
      return decodeURIComponent(location.hash.slice(6));
    } catch {
      return location.hash.slice(6); // typed by hand, with a lonely % in it
    }
  }

  async route() {
    const hash = location.hash.slice(1);
    this.tell("");
    const number = ++this.shown;
    try {
      if (hash === "table" || (!hash && !this.desk.queue.length && !this.desk.run)) await this.showTable();
      else if (hash === "progress") await this.showProgress(number);
      else {
        const next = this.desk.queue.find(star => !star.answer) || this.desk.queue[0];
        const id = this.askedFor() ?? next?.id;
        if (id === undefined) this.showEmpty();
        else await this.showStar(id, number);
      }
    } catch (error) {
      if (this.shown === number) this.showTrouble(error.message);
    }
  }

  // In place of a page that cannot be shown: nothing of another star may stand there, or it would be answered.
  showTrouble(message) {
    this.page = null;
    this.main.replaceChildren(h("section", { class: "card" }, h("h1", {}, "This cannot be shown."), h("p", {}, message)));
    this.showBar();
  }

  // Another tab, or somebody else, may have gone on in the meantime.
  async catchUp() {
    try {
      const { records, added } = this.outbox;
      if (records.length) return; // what was pressed here is newer than what the server knows
      const desk = await get("desk");
      if (added !== this.outbox.added) return; // a key was pressed meanwhile
      if (desk.run !== this.desk.run) return await this.takeOver(desk);
      this.desk = desk;
      this.stars.clear();
      this.showBar();
      if (desk.retraining.state === "running") this.follow();
      const { page } = this;
      if (!(page instanceof StarPage)) return;
      const { answer } = await this.fetch(page.star.id).star;
      if (this.page === page && added === this.outbox.added) page.showAnswer(answer);
    } catch {
      // a server that is gone is told of when something is asked of it
    }
  }

  // A new run asks now. A star that is being looked at stays, or the key meant for it would answer another.
  async takeOver(desk) {
    this.desk = desk;
    this.stars.clear();
    this.table = this.place = this.maps = null;
    this.loadMaps();
    const ready = `The run ${desk.run} is ready`;
    if (this.page instanceof StarPage && !this.page.star.answer) {
      this.showBar();
      this.tell(`${ready}: “Stars” shows the next ${desk.queue.length} that it asks for.`);
      return;
    }
    history.replaceState(null, "", "#");
    await this.route();
    this.tell(`${ready}: here are its next ${desk.queue.length} stars.`);
  }

  open(id) {
    const hash = `#star=${encodeURIComponent(id)}`;
    if (location.hash === hash) this.route();
    else location.hash = hash;
  }

  fetch(id) {
    if (!this.stars.has(id)) {
      const star = get("star", { id });
      star.catch(() => this.stars.delete(id));
      this.stars.set(id, { star, around: null });
      if (this.stars.size > KEPT) this.stars.delete(this.stars.keys().next().value);
    }
    return this.stars.get(id);
  }

  // What stands around a star comes after the star itself: the light curve is what a person waits for.
  async around(id) {
    const found = this.fetch(id);
    await found.star;
    found.around ||= get("around", { id }).catch(error => {
      found.around = null; // to be asked for again
      throw error;
    });
    return found.around;
  }

  async showStar(id, number) {
    const began = performance.now();
    this.current = id;
    const star = await this.fetch(id).star;
    if (this.shown !== number) return;
    this.page = new StarPage(this, star);
    this.main.replaceChildren(this.page.element);
    this.page.paint();
    this.showBar();
    this.main.focus({ preventScroll: true });
    scrollTo(0, 0);
    requestAnimationFrame(() => requestAnimationFrame(() => performance.measure("star shown", { start: began, end: performance.now(), detail: id })));
    const page = this.page;
    const near = this.beside().filter(Boolean);
    for (const each of near) this.fetch(each);
    this.around(id).then(around => {
      if (this.page === page) page.showAround(around);
      return near.length ? this.around(near[0]) : this.atPlace(1).then(next => next && this.around(next));
    }).catch(error => { if (this.page === page) this.tell(error.message, true); });
  }

  // The stars before and after, as far as they are known without asking.
  beside() {
    const at = this.desk.queue.findIndex(star => star.id === this.current);
    return at < 0 ? [] : [1, 2, -1].map(by => this.desk.queue[at + by]?.id);
  }

  // The star so many places further in the table's order; none beyond its ends, or where no table was open.
  async atPlace(by) {
    if (this.place === null || !this.table || this.place + by < 0) return null;
    return (await get("place", { ...this.table.query, place: this.place + by })).id;
  }

  async step(by) {
    const at = this.desk.queue.findIndex(star => star.id === this.current);
    if (at >= 0) {
      const next = this.desk.queue[at + by];
      if (next) this.open(next.id);
      return;
    }
    if (this.place === null) return this.goOn();
    try {
      const id = await this.atPlace(by);
      if (id === null) return;
      this.place += by;
      this.open(id);
    } catch (error) {
      this.tell(error.message, true);
    }
  }

  // To the next star of the round that has no answer: after the one shown, else the first; says so where all have one.
  goOn() {
    const at = this.desk.queue.findIndex(star => star.id === this.current);
    const next = this.desk.queue.find((star, number) => !star.answer && number > at) || this.desk.queue.find(star => !star.answer);
    if (next) this.open(next.id);
    else if (this.desk.queue.length) this.tell("All stars of this round are answered. Retrain with them, or ask for more.");
  }

  answer(label, likely = false, stay = false) {
    const page = this.page;
    if (!(page instanceof StarPage)) return;
    const star = page.star.id;
    const body = { star, label, confidence: likely ? "likely" : "sure", period: page.period, note: page.note.value.trim() };
    const given = { label, confidence: body.confidence, note: body.note, period: body.period, when: new Date().toISOString() };
    page.showAnswer(given);
    page.status.textContent = "saving …";
    const queued = this.desk.queue.find(each => each.id === star);
    if (queued) queued.answer = given;
    this.outbox.add("answer", body);
    this.showBar();
    // a star that was opened from the table stays, so that what was saved is seen
    if (!stay && (queued || this.place === null)) this.goOn();
  }

  undo() {
    this.outbox.add("undo", {});
  }

  saved(path, body, found) {
    this.desk.answers = found.answers;
    const id = path === "undo" ? found.undone : found.star;
    this.show(id, found.answer);
    const here = this.page instanceof StarPage && this.page.star.id === id;
    if (path === "undo" && id && !here) this.open(id);
    if (path === "undo" && !id) this.tell("There is nothing to undo.");
    this.showBar();
  }

  // What stands of a star's answers: in the bar, on its page, and where it is shown again.
  show(id, answer) {
    const queued = this.desk.queue.find(each => each.id === id);
    if (queued) queued.answer = answer;
    this.stars.get(id)?.star.then(star => { star.answer = answer; }).catch(() => {});
    if (this.page instanceof StarPage && this.page.star.id === id) this.page.showAnswer(answer);
  }

  refused(path, body, message) {
    if (path === "answer") {
      this.show(body.star, null);
      this.stars.delete(body.star); // the server knows what stood before
    }
    this.showBar();
    this.tell(body.star ? `The answer about ${body.star} was not saved: ${message}` : message, true);
  }

  wait(count, reason) {
    if (count) this.tell(`${reason} ${count} ${count === 1 ? "answer waits" : "answers wait"} in this browser and will be sent again, also by the page that lcdvt opens when it is started anew.`, true);
    else if (this.waited) this.tell("");
    this.waited = Boolean(count);
  }

  async more() {
    try {
      this.desk = await post("ask");
      location.hash = "";
      this.route();
    } catch (error) {
      this.tell(error.message, true);
    }
  }

  async retrain() {
    try {
      await this.outbox.flush();
      this.desk.retraining = await post("retrain");
      this.follow();
    } catch (error) {
      this.tell(error.message, true);
    }
  }

  // Looks at the training until it ends; who looks already goes on alone.
  async follow() {
    if (this.following) return;
    this.following = true;
    try {
      do {
        this.desk.retraining = await get("retraining");
        this.showBar();
        if (this.desk.retraining.state === "running") {
          this.showTraining(this.desk.retraining);
          await new Promise(resolve => { setTimeout(resolve, POLL); });
        }
      } while (this.desk.retraining.state === "running");
      if (this.desk.retraining.state === "failed") this.tell(this.desk.retraining.error, true);
      if (this.desk.retraining.state === "done") await this.takeOver(await get("desk"));
    } catch (error) {
      this.desk.retraining = { state: "idle" }; // nobody knows; the button is there to ask again
      this.showBar();
      this.tell(error.message, true);
    } finally {
      this.following = false;
    }
  }

  showTraining({ note, seconds }) {
    const [, step, steps] = /step (\d+) of (\d+)/.exec(note || "") || [];
    const bar = h("i");
    bar.style.width = steps ? `${(100 * step) / steps}%` : "4%";
    this.banner.className = "";
    this.banner.replaceChildren("Training again with the answers", h("span", { class: "track" }, bar),
      h("span", { class: "soft" }, `${steps ? note : step === undefined && seconds > 3 ? "teachers at work" : note || ""} · ${Math.round(seconds || 0)} s`));
  }

  tell(message, trouble = false) {
    if (!message && this.desk?.retraining.state === "running") return;
    this.banner.className = trouble ? "trouble" : "";
    this.banner.textContent = message;
  }

  showBar() {
    const { desk } = this;
    const at = desk.queue.findIndex(star => star.id === this.current);
    const squares = desk.queue.map((star, number) => {
      const button = h("button", { type: "button", class: number === at && this.page instanceof StarPage ? "here" : "", "aria-label": `star ${number + 1}${star.answer ? `, ${star.answer.label ?? "unsure"}` : ""}` });
      if (star.answer) {
        const known = desk.classes.find(each => each.name === star.answer.label);
        if (known) button.style.background = known.colour;
        else button.classList.add(star.answer.label === null ? "unsure" : "other");
      }
      button.addEventListener("click", () => this.open(star.id));
      return h("li", {}, button);
    });
    const link = (text, action, { main = false, disabled = false } = {}) => {
      const button = h("button", { type: "button", class: main ? "main" : "", disabled }, text);
      button.addEventListener("click", action);
      return button;
    };
    const done = desk.queue.length > 0 && desk.queue.every(star => star.answer);
    const training = desk.retraining.state === "running";
    const title = h("span", { class: "title" }, desk.run || desk.survey);
    const focused = this.bar.contains(document.activeElement) ? [...this.bar.querySelectorAll("button")].indexOf(document.activeElement) : -1;
    const named = document.activeElement?.textContent;
    this.bar.replaceChildren(...[
      title,
      desk.simulated ? h("span", { class: "simulated" }, "simulated") : null,
      desk.queue.length ? h("ul", { class: "queue", "aria-label": "stars of this round" }, ...squares) : null,
      h("span", { class: "soft small", id: "count" }, `${desk.answers} answered`),
      h("nav", {},
        desk.run ? link("Retrain", () => this.retrain(), { main: done && !training, disabled: training || !desk.answers }) : null,
        desk.run && done ? link("Ask more", () => this.more(), { disabled: training }) : null,
        desk.run ? link("Stars", () => { location.hash = ""; }) : null,
        link("Table", () => { location.hash = "table"; }),
        link("Progress", () => { location.hash = "progress"; }),
        link("?", () => this.help())),
    ].filter(Boolean));
    if (focused < 0) return;
    // who goes through the bar by Tab is not thrown out of it each time it is drawn again
    const buttons = [...this.bar.querySelectorAll("button")];
    (named ? buttons.find(button => button.textContent === named) : buttons[focused])?.focus({ preventScroll: true });
  }

  async showTable() {
    this.page = null;
    this.table ||= new TablePage(this);
    this.main.replaceChildren(this.table.element);
    this.showBar();
    await this.table.load();
    performance.measure("table shown", { start: 0, end: performance.now() });
  }

  showEmpty() {
    this.page = null;
    this.showBar();
    this.main.replaceChildren(h("section", { class: "card" }, h("h1", {}, "No star is left to ask for."), h("p", {}, "Every star that the run could ask for is labelled or answered. The table has all of them.")));
  }

  async showProgress(number) {
    this.page = null;
    this.showBar();
    const found = await get("progress");
    if (this.shown !== number) return;
    const rounds = found.rounds.filter(round => round.f1 !== null);
    const f1 = h("canvas", { class: "chart", role: "img", "aria-label": "F1 against labels", hidden: !rounds.length });
    const agree = h("canvas", { class: "chart", role: "img", "aria-label": "agreement between answers and predictions", hidden: !found.agreement.length });
    const card = (title, text, ...content) => h("section", { class: "card" }, h("h2", {}, title), ...content, h("p", { class: "small soft" }, text));
    const scored = rounds.length ? `Macro F1 of each run on the same ${rounds[0].scored} stars: those with a label that none of the runs has learned from. Answered stars are never among them.` : "No labels are held back that all runs could be scored on.";
    const told = found.agreement.length ? "Share of the last ten answers that named the class which the model had predicted when it asked. It asks for what it doubts, so a low share is no bad sign." : "Nothing has been answered yet.";
    const rows = found.rounds.map(round => h("tr", {}, h("td", {}, round.run), h("td", {}, String(round.labels)), h("td", {}, String(round.answers)), h("td", {}, round.f1 === null ? "–" : `${round.f1.toFixed(1)} %`)));
    const table = h("section", { class: "card" }, h("h2", {}, "Rounds"), h("div", { class: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, ...["run", "labels learned from", "of them answers", "macro F1"].map(name => h("th", { scope: "col" }, name)))), h("tbody", {}, ...rows))));
    const disputed = found.disputed.map(each => h("li", {}, h("a", { href: `#star=${encodeURIComponent(each.star)}` }, each.star), ` ${Object.entries(each.voices).map(([who, label]) => `${who}: ${label ?? "unsure"}`).join(", ")} → ${each.label ?? "nobody learns from it"}`));
    const disputes = disputed.length ? h("section", { class: "card" }, h("h2", {}, "Disputed"), h("ul", {}, ...disputed)) : null;
    this.main.replaceChildren(...[h("div", { class: "charts" }, card("F1 on held-back labels", scored, f1), card("Answers and predictions", told, agree)), found.rounds.length ? table : null, disputes].filter(Boolean));
    if (rounds.length) {
      const labels = rounds.map(round => round.labels);
      const values = rounds.map(round => round.f1);
      draw(f1, {
        x: new Axis(Math.min(...labels), Math.max(...labels), { name: "labels learned from", margin: 0.1 }),
        y: new Axis(Math.min(...values), Math.max(...values), { name: "macro F1 (%)", margin: 0.25 }),
        layers: [{ kind: "line", x: labels, y: values, colour: ink("accent"), width: 2 }, { kind: "points", x: labels, y: values, colour: ink("accent"), size: 4 }],
      });
    }
    const agreed = found.agreement.map(each => (each.label === each.predicted ? 1 : 0));
    if (agreed.length) {
      const share = agreed.map((_, at) => agreed.slice(Math.max(0, at - 9), at + 1)).map(last => (100 * last.reduce((a, b) => a + b, 0)) / last.length);
      const numbers = agreed.map((_, at) => at + 1);
      draw(agree, {
        x: new Axis(0, agreed.length, { name: "answers", margin: 0.02 }),
        y: new Axis(0, 100, { name: "agreement (%)", margin: 0.05 }),
        layers: [{ kind: "line", x: numbers, y: share, colour: ink("accent"), width: 2 }, { kind: "points", x: numbers, y: agreed.map(value => 100 * value), colour: ink("soft"), size: 2.5 }],
      });
    }
  }

  help() {
    const keys = [
      ...this.desk.classes.map(each => [each.key, each.name]),
      ["o", "other: none of these"], ["u", "unsure: not asked again, not learned from"], ["⇧", "with a class: likely instead of sure"], ["z", "undo the last answer"],
      ["← →", "star before, next star"], ["1 … 6", "the best period and the next candidates"], [",  .", "half, twice the period"],
      ["↑ ↓", "fine tuning of the period (or the mouse wheel over the curve)"], ["n", "write a note (Esc leaves it)"], ["k", "show the catalogue's label"], ["b", "table of all stars"], ["?", "this help"],
    ];
    const close = h("button", { type: "button", class: "main" }, "Close");
    const dialog = h("dialog", {}, h("h1", {}, "Keys"), h("dl", {}, ...keys.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
      h("p", { class: "small soft" }, `Answers of ${this.desk.who} are saved in ${this.desk.file} the moment a key is pressed.`), close);
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const typing = event.target.matches?.("input:not([type=range]), select, textarea");
    if (event.key === "Escape" && typing) return event.target.blur();
    if (typing) {
      if (event.key === "Enter") event.target.blur();
      return undefined;
    }
    const action = this.action(event.key, event.shiftKey);
    if (!action) return undefined;
    event.preventDefault();
    // a key that is held down, or that something lies on, is pressed once; only the period runs on with it
    if (event.repeat && !["ArrowUp", "ArrowDown"].includes(event.key)) return undefined;
    return action();
  }

  action(key, shift) {
    const page = this.page instanceof StarPage ? this.page : null;
    const letter = key.toLowerCase();
    const general = { "?": () => this.help(), z: () => this.undo(), b: () => { location.hash = "table"; } };
    if (key === "?" || (!shift && letter in general)) return general[letter];
    if (!page) return null;
    const known = this.desk.classes.find(each => each.key && each.key === letter);
    if (known) return () => this.answer(known.name, shift);
    if (key >= "1" && key <= "6") return page.candidates[key - 1] ? () => page.fold(page.candidates[key - 1]) : null;
    return {
      o: () => this.answer("OTHER", shift),
      u: () => this.answer(null),
      n: () => page.note.focus(),
      k: () => page.reveal(),
      arrowleft: () => this.step(-1),
      arrowright: () => this.step(1),
      arrowup: () => page.tune(0.08),
      arrowdown: () => page.tune(-0.08),
      ",": () => page.fold(page.period / 2),
      ".": () => page.fold(page.period * 2),
    }[letter] || null;
  }
}

const app = new App();
app.start().catch(error => app.tell(error.message, true));
