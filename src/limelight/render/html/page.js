"use strict";
(() => {
const element = (tag, name, ...inside) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...inside);
  return made;
};
const weight = (cell) => parseFloat(cell.textContent.replace(/\u2212/g, "-"));

const live = (section) => {
  const rows = [...section.querySelectorAll(".row")], table = section.querySelector("table.numbers");
  if (!rows.length || !table) return;
  const lines = [...table.tBodies[0].rows], heads = [...table.tHead.rows[0].cells];
  const order = section.querySelector(".rows").dataset.order;
  const features = order ? order.split(" ").map(Number) : null;
  const words = rows.map((row) => [...row.querySelectorAll(".words mark, .words span")]);
  const method = rows.map((row) => Number(row.dataset.m));
  const places = new Map();
  words.forEach((own, r) => own.forEach((word, k) => places.set(word, [r, k])));
  const featureAt = (k) => (features ? features[k] : k);

  // One word in all rows, with what each method says of it.
  const panel = element("div", "panel");
  panel.setAttribute("role", "status");
  panel.hidden = true;
  section.append(panel);
  let same = [], stop = null;
  const show = (word) => {
    const [row, k] = places.get(word), f = featureAt(k);
    for (const other of same) other.classList.remove("same");
    same = words.flatMap((own) => own.filter((_, i) => featureAt(i) === f));
    for (const other of same) other.classList.add("same");
    const line = lines[f];
    const said = rows.flatMap((own, r) => {
      if (own.hidden) return [];
      const mark = element("mark", words[r][k].className.replace("same", ""), line.cells[method[r] + 1].textContent);
      return [element("span", "", own.querySelector("strong").textContent + " ", mark)];
    });
    panel.replaceChildren(element("strong", "", line.cells[0].textContent), ...said);
    panel.hidden = false;
  };
  const leave = () => {
    for (const other of same) other.classList.remove("same");
    same = [];
    panel.hidden = true;
  };
  const wordAt = (event) => {
    const found = event.target.closest("mark, span");
    return places.has(found) ? found : null;
  };
  const stopAt = (word) => {
    if (stop) stop.tabIndex = -1;
    stop = word;
    stop.tabIndex = 0;
  };
  if (words[0].length) stopAt(words[0][0]);
  const text = section.querySelector(".rows");
  text.setAttribute("data-lm-suppress-shortcuts", "true");
  text.addEventListener("pointerover", (event) => { const word = wordAt(event); if (word) show(word); });
  text.addEventListener("pointerleave", () => { if (!places.has(document.activeElement)) leave(); });
  text.addEventListener("focusin", (event) => { const word = wordAt(event); if (word) { stopAt(word); show(word); } });
  text.addEventListener("focusout", leave);
  text.addEventListener("click", (event) => {
    const word = wordAt(event);
    if (word) { stopAt(word); word.focus(); show(word); }
  });
  text.addEventListener("keydown", (event) => {
    const word = wordAt(event);
    if (!word) return;
    const [row, k] = places.get(word);
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === "Escape") { word.blur(); leave(); }
    if (!step) return;
    const across = event.key === "ArrowLeft" || event.key === "ArrowRight";
    const forward = getComputedStyle(word).direction === "rtl" && across ? -step : step;
    let r = row, next = null;
    if (across) next = words[row][k + forward];
    else while (rows[(r += step)]) if (rows[r].checkVisibility?.() ?? rows[r].offsetParent) { next = words[r][k]; break; }
    if (next) { stopAt(next); next.focus(); }
    event.preventDefault();
    event.stopPropagation();
  });

  // The table by any of its columns.
  heads.forEach((head, c) => {
    const button = element("button", "", ...head.childNodes);
    button.type = "button";
    button.title = "sort";
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== (c ? "descending" : "ascending");
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down === !c ? "ascending" : "descending");
      const sorted = lines.map((line, i) => [c ? weight(line.cells[c]) : -i, line]);
      const number = (x) => (Number.isNaN(x) ? -Infinity : down ? x : -x);
      sorted.sort((a, b) => number(b[0]) - number(a[0]));
      table.tBodies[0].append(...sorted.map((own) => own[1]));
    });
  });

  // Methods that are looked at.
  if (rows.length < 2) return;
  const choice = element("fieldset", "choice", element("legend", "", "Methods shown"));
  const byColumn = [...rows.keys()].sort((a, b) => method[a] - method[b]);
  for (const r of byColumn) {
    const box = element("input");
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", () => {
      const shown = [rows[r], section.querySelector(`.strongest tr[data-m="${method[r]}"]`), heads[method[r] + 1]];
      for (const line of lines) shown.push(line.cells[method[r] + 1]);
      for (const own of shown) own.hidden = !box.checked;
    });
    choice.append(element("label", "", box, " " + rows[r].querySelector("strong").textContent));
  }
  section.querySelector(".strongest").parentElement.before(choice);
};

const switchable = (article) => {
  const sections = [...article.querySelectorAll(".asked")];
  if (sections.length < 2) return;
  const select = element("select");
  for (const own of sections) select.append(element("option", "", own.querySelector(".question").textContent));
  select.append(element("option", "", "all of them"));
  const choose = () => sections.forEach((own, i) => {
    own.hidden = select.selectedIndex < sections.length && select.selectedIndex !== i;
  });
  select.addEventListener("change", choose);
  sections[0].before(element("label", "switch", "Explained: ", select));
  choose();
};

for (const root of document.querySelectorAll(".limelight:not([data-live])")) {
  root.dataset.live = "";
  root.querySelectorAll(".asked").forEach(live);
  root.querySelectorAll(".article").forEach(switchable);
}
window.addEventListener("beforeprint", () => {
  for (const own of document.querySelectorAll(".limelight details")) own.open = true;
});
})();
