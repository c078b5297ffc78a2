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
