// A text to type into, with colours behind its letters that follow it.
//
// The letters are those of a plain text area. Behind them lies the same text, without letters and with colours.

import { element, labelled } from "./dom.js";

// Places in Python count characters, places here count halves of those beyond the first 65,536.
const places = (text) => {
  if (!/[\ud800-\udbff]/.test(text)) return (place) => place;
  const starts = [];
  let at = 0;
  for (const character of text) {
    starts.push(at);
    at += character.length;
  }
  starts.push(at);
  return (place) => starts[Math.min(place, starts.length - 1)];
};

export class Editor {
  constructor(title, hint, oninput) {
    this.back = element("div", { class: "behind" });
    this.back.setAttribute("aria-hidden", "true");
    this.area = element("textarea", { class: "letters", spellcheck: false, autocomplete: "off", rows: 3, dir: "auto" });
    this.area.addEventListener("input", () => this.#typed(oninput));
    this.area.addEventListener("scroll", () => this.#scrolled());
    this.root = labelled(title, this.area, hint);
    const both = element("div", { class: "editor" }, this.back);
    this.area.replaceWith(both);
    both.append(this.area);
    this.marks = [];
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    if (this.area.value !== text) this.area.value = text;
    this.plain();
  }

  // The colours of an explanation: a class for each span of each feature.
  colour(text, spans, shades) {
    if (text !== this.area.value) return;
    const place = places(text);
    const marks = spans.flatMap((own, j) =>
      shades[j] ? own.map(([start, end]) => ({ start: place(start), end: place(end), shade: shades[j] })) : []
    );
    this.marks = marks.sort((one, other) => one.start - other.start);
    this.#draw();
  }

  // Another text has other colours.
  #typed(oninput) {
    this.plain();
    oninput();
  }

  plain() {
    this.marks = [];
    this.#draw();
  }

  #draw() {
    const text = this.area.value, parts = [];
    let at = 0;
    for (const { start, end, shade } of this.marks) {
      if (start < at) continue;
      parts.push(text.slice(at, start), element("mark", { class: shade }, text.slice(start, end)));
      at = end;
    }
    // A line that ends the text is as high as any other.
    this.back.replaceChildren(...parts, `${text.slice(at)}\n`);
    this.fit();
  }

  fit() {
    this.area.style.height = "auto";
    this.area.style.height = `${Math.min(this.area.scrollHeight + 2, 420)}px`;
    this.#scrolled();
  }

  #scrolled() {
    this.back.scrollTop = this.area.scrollTop;
    this.back.style.height = `${this.area.clientHeight}px`;
  }
}
