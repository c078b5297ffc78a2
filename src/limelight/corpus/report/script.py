"""What the page of a report adds to that of an explanation: the look of its tables, and the script for them.

Without the script nothing is missing but search, sorting and the choice of one question at a time.
"""

from __future__ import annotations

STYLE = """
.S h2.t1 {font-size: 1.3rem; margin-top: 2.4rem}
.S h3 {font-size: 1.05rem; margin: 1.4rem 0 .3rem; font-weight: 650}
.S nav.contents {display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: .8rem 0}
.S .figures {display: flex; flex-wrap: wrap; gap: .6rem 2.2rem; margin: 1rem 0; padding: 0; list-style: none}
.S .figures strong {display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums}
.S .tools {display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: .5rem 0}
.S .tools > * {min-width: 0; max-width: 100%}
.S .tools label {font-size: .875rem}
.S .tools input {font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--quiet);
  border-radius: .25rem; padding: .2rem .5rem; width: 14rem; max-width: 100%}
.S button.more {background: none; border: 1px solid var(--quiet); border-radius: .25rem; padding: .2rem .8rem;
  cursor: pointer; margin: .5rem 0}
.S .list {width: 100%}
.S .list td, .S .list th {vertical-align: top}
.S .list .name {text-align: start; max-width: 16rem; overflow-wrap: break-word; line-height: 1.5; font-weight: 650}
.S .list thead .begin {text-align: start}
.S .list td.begin {text-align: start; white-space: normal; min-width: 16rem; max-width: 34rem}
.S .list tbody tr:focus-within, .S .list tbody tr:hover {background: color-mix(in srgb, var(--accent) 8%, var(--paper))}
.S .list tbody tr:hover th, .S .list tbody tr:focus-within th {background: inherit}
.S .list .faint {color: var(--quiet); font-weight: 400}
.S .list a + a {margin-inline-start: .6rem}
.S .list td.bars {min-width: 9.5rem; padding-bottom: .6rem}
.S article.text {border-top: 1px solid var(--line); padding: .8rem 0; content-visibility: auto;
  contain-intrinsic-size: auto 14rem; scroll-margin-top: .5rem}
.S article.text:target {box-shadow: inset 4px 0 0 var(--accent); padding-inline-start: .9rem}
.S article.text h3 {margin: 0 0 .2rem}
.S .looked {outline: 3px solid var(--accent); outline-offset: 1px}
@media (max-width: 40rem) {
  .S .list td.begin {min-width: 12rem}
  .S .list .name {max-width: 9rem; min-width: 4rem}
  .S .list th, .S .list td {padding-inline: .4rem}
}
@media print {
  .S .tools, .S button.more {display: none}
  .S article.text {content-visibility: visible; break-inside: avoid}
  .S .list {font-size: 7.5pt}
  .S .list :is(th, td) {padding-inline: .2rem; min-width: 0 !important}
}
"""

SCRIPT = """
"use strict";
(() => {
const FIRST = 25;
const element = (tag, name, ...inside) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...inside);
  return made;
};
const value = (cell) => {
  if (cell.dataset.v === undefined) return cell.textContent.trim().toLowerCase();
  return cell.dataset.v === "" ? NaN : Number(cell.dataset.v);
};

// A table: the first lines, all of them, those that hold what is searched for; by any column.
const live = (table) => {
  const body = table.tBodies[0], lines = [...body.rows], heads = [...table.tHead.rows[0].cells];
  let whole = lines.length <= FIRST + 5, sought = "";
  const count = element("span", "quiet"), more = element("button", "more");
  more.type = "button";
  count.setAttribute("role", "status");
  const show = () => {
    const found = [...body.rows].filter((line) => !sought || line.cells[0].textContent.toLowerCase().includes(sought)
      || (line.dataset.find || "").toLowerCase().includes(sought));
    const seen = new Set(whole || sought ? found : found.slice(0, FIRST));
    for (const line of body.rows) line.hidden = !seen.has(line);
    more.hidden = whole || Boolean(sought) || found.length <= FIRST;
    more.textContent = `Show all ${found.length}`;
    count.textContent = sought ? `${found.length} of ${lines.length} lines` : "";
  };
  more.addEventListener("click", () => { whole = true; show(); });
  const box = table.closest(".scroll");
  if (lines.length > 5) {
    const input = element("input");
    input.type = "search";
    input.addEventListener("input", () => { sought = input.value.trim().toLowerCase(); show(); });
    box.before(element("div", "tools", element("label", "", "Search ", input), count));
  }
  box.after(more);
  heads.forEach((head, c) => {
    if (head.classList.contains("still") || lines.length < 2) return;
    const button = element("button", "", ...head.childNodes);
    button.type = "button";
    button.title = "sort";
    head.append(button);
    button.addEventListener("click", () => {
      const isNumber = lines.some((line) => line.cells[c].dataset.v !== undefined);
      const first = isNumber ? "descending" : "ascending";
      const now = head.getAttribute("aria-sort");
      const next = now === first ? (first === "ascending" ? "descending" : "ascending") : first;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", next);
      const sign = next === "ascending" ? 1 : -1;
      const sorted = lines.map((line, i) => [value(line.cells[c]), i, line]).sort(([a, i], [b, j]) => {
        if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b) || i - j;
        return sign * (a < b ? -1 : a > b ? 1 : 0) || i - j;
      });
      body.append(...sorted.map((own) => own[2]));
      show();
    });
  });
  show();
};

// One question at a time.
const switchable = (section) => {
  const parts = [...section.querySelectorAll(":scope > .part")];
  if (parts.length < 2) return;
  const select = element("select");
  for (const own of parts) select.append(element("option", "", own.querySelector("h3").textContent));
  const choose = () => parts.forEach((own, i) => { own.hidden = i !== select.selectedIndex; });
  select.addEventListener("change", choose);
  parts[0].before(element("div", "tools", element("label", "", "Shown: ", select)));
  choose();
};

// An example is looked at for a word of it.
const look = (link) => {
  for (const own of document.querySelectorAll(".looked")) own.classList.remove("looked");
  const word = link.dataset.word, text = document.querySelector(link.getAttribute("href"));
  if (!word || !text) return;
  const hidden = text.querySelector(`details .row[data-m="${link.dataset.m}"]`);
  if (hidden) hidden.closest("details").open = true;
  for (const own of text.querySelectorAll(".words mark, .words span")) {
    if (own.textContent.toLowerCase() === word) own.classList.add("looked");
  }
};

for (const root of document.querySelectorAll(".limelight:not([data-live])")) {
  root.dataset.live = "";
  root.querySelectorAll("table.list").forEach(live);
  root.querySelectorAll("section").forEach(switchable);
  root.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-word]");
    if (link) look(link);
  });
}
window.addEventListener("beforeprint", () => {
  for (const own of document.querySelectorAll(".limelight details")) own.open = true;
});
})();
"""
