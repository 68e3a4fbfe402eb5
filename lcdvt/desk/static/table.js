// The table of all stars: the server sorts and cuts, the page shows fifty rows.

import { h } from "./desk.js";
import { get } from "./server.js";

const ROWS = 50;

export class TablePage {
  constructor(app) {
    this.app = app;
    this.query = { sort: "", descending: "false", label: "", text: "" };
    this.start = 0;
    this.body = h("div", { class: "scroll" });
    this.count = h("span", { class: "count soft" });
    this.text = h("input", { type: "search", placeholder: "part of an id", "aria-label": "part of an id" });
    this.text.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.ask({ text: this.text.value.trim() }), 250);
    });
    this.label = h("select", { "aria-label": "class" });
    this.label.addEventListener("change", () => this.ask({ label: this.label.value }));
    this.sort = h("select", { "aria-label": "sort by" });
    this.sort.addEventListener("change", () => this.ask({ sort: this.sort.value, descending: "true" }));
    const move = (text, where, name) => {
      const button = h("button", { type: "button", "aria-label": name }, text);
      button.addEventListener("click", () => this.go(where()));
      return button;
    };
    this.moves = [
      move("«", () => 0, "first rows"),
      move("‹", () => this.start - ROWS, "rows before"),
      move("›", () => this.start + ROWS, "next rows"),
      move("»", () => Math.floor((this.total - 1) / ROWS) * ROWS, "last rows"),
    ];
    this.element = h("section", { class: "card" },
      h("div", { class: "controls" }, this.text, this.label, this.sort, ...this.moves, this.count), this.body);
    get("columns").then(found => {
      const option = (value, text) => h("option", { value }, text ?? value);
      this.label.replaceChildren(option("", "every class"), ...found.labels.map(name => option(name)), option("-", "without a label"));
      const groups = Object.entries({ star: found.star, prediction: found.prediction, features: found.features });
      this.sort.replaceChildren(option("", "sort by …"), ...groups.filter(([, names]) => names.length).map(([name, names]) =>
        h("optgroup", { label: name }, ...names.map(each => option(each)))));
      this.label.value = this.query.label;
      this.sort.value = this.query.sort;
    }).catch(error => app.tell(error.message, true));
  }

  ask(change) {
    Object.assign(this.query, change);
    this.start = 0;
    return this.load();
  }

  go(start) {
    this.start = Math.max(0, Math.min(start, this.total - 1));
    return this.load();
  }

  async load() {
    const asked = this.asked = {};
    try {
      const page = await get("rows", { ...this.query, start: this.start, count: ROWS });
      if (this.asked !== asked) return; // another question came after this one
      this.total = page.total;
      this.show(page);
    } catch (error) {
      this.app.tell(error.message, true);
    }
  }

  show(page) {
    const { sort, descending } = this.query;
    this.sort.value = sort;
    const header = page.columns.map(name => {
      const way = name === sort ? (descending === "true" ? " ↓" : " ↑") : "";
      const button = h("button", { type: "button" }, name + way);
      button.addEventListener("click", () => this.ask({ sort: name, descending: String(name === sort && descending !== "true") }));
      const sorted = name === sort ? { "aria-sort": descending === "true" ? "descending" : "ascending" } : {};
      return h("th", { scope: "col", ...sorted }, button);
    });
    const rows = page.rows.map((row, number) => {
      const star = row[0];
      const link = h("a", { href: `#star=${encodeURIComponent(star)}` }, star);
      link.addEventListener("click", () => { this.app.place = this.start + number; });
      const cells = row.map((value, column) => h("td", { class: typeof value === "string" ? "text" : "" }, column ? shown(value) : link));
      const answer = star in page.answers ? page.answers[star] ?? "undecided" : "";
      return h("tr", {}, ...cells, h("td", { class: "text" }, answer));
    });
    this.body.replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, ...header, h("th", { scope: "col", class: "text" }, "answer"))), h("tbody", {}, ...rows)));
    const last = this.start + page.rows.length;
    this.count.textContent = page.total ? `${(this.start + 1).toLocaleString("en")}–${last.toLocaleString("en")} of ${page.total.toLocaleString("en")}` : "no star";
    this.moves.forEach((button, number) => { button.disabled = number < 2 ? this.start === 0 : last >= page.total; });
  }
}

function shown(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) < 1e-3 ? value.toExponential(1) : String(+value.toPrecision(5));
}
