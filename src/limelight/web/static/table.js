// All weights as numbers: a row per word, a column per method, sorted by any of them.

import { element, region, withVariables } from "./dom.js";
import { reach, scaled } from "./rows.js";

export class Numbers {
  constructor() {
    this.root = region("Weights of all words");
    this.column = 0;
    this.direction = "descending";
    this.rows = [];
    this.names = [];
  }

  show(names, rows) {
    this.names = names;
    this.rows = rows.filter((row) => row.drawn);
    if (this.column > this.rows.length) this.column = 0;
    this.#draw();
  }

  clear() {
    this.rows = [];
    this.root.replaceChildren();
  }

  #sort(column) {
    const same = column === this.column;
    this.direction = same && this.direction === "descending" ? "ascending" : "descending";
    this.column = column;
    this.#draw();
    this.root.querySelectorAll("thead button")[column]?.focus();
  }

  #order() {
    const order = this.names.map((_, j) => j);
    const sign = this.direction === "descending" ? 1 : -1;
    if (this.column === 0) return sign === 1 ? order : order.reverse();
    const { weights } = this.rows[this.column - 1].explanation;
    return order.sort((one, other) => sign * ((weights[other] ?? 0) - (weights[one] ?? 0)) || one - other);
  }

  #draw() {
    const heads = ["word", ...this.rows.map((row) => row.label)].map((label, column) => {
      const head = element("th", { scope: "col" }, element("button", { type: "button", onclick: () => this.#sort(column) }, label));
      if (column === this.column) head.setAttribute("aria-sort", this.direction);
      return head;
    });
    const longest = this.rows.map(reach);
    const lines = this.#order().map((j) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, element("bdi", {}, this.names[j])),
        ...this.rows.map((row, r) => {
          const cell = element("td", { class: row.drawn.told[j] ? "" : "faint" }, row.drawn.written[j]);
          cell.dataset.hue = row.drawn.told[j] ? row.drawn.hues[j] : "x";
          return withVariables(cell, scaled(row, j, longest[r]));
        })
      )
    );
    this.root.replaceChildren(
      element("table", { class: "numbers" }, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines))
    );
  }
}
