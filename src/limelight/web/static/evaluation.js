// An evaluation: its verdict in sentences, its curves, its tables.

import { get } from "./api.js";
import { drawing, element } from "./dom.js";
import { sample, styleOf } from "./curve.js";

const WIDTH = 720, HEIGHT = 280, LEFT = 56, RIGHT = 12, TOP = 12, BOTTOM = 40;

const drawnCurves = ({ title, curves }) => {
  const all = curves.flatMap((own) => [...own.mean, ...own.low, ...own.high]).filter((value) => value !== null);
  const low = Math.min(0, ...all), high = Math.max(...all), room = high - low || 1;
  const most = Math.max(...curves.flatMap((own) => own.parts));
  const x = (part) => LEFT + ((WIDTH - LEFT - RIGHT) * part) / most, y = (value) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - value)) / room;
  const points = (own, values) => values.map((value, k) => [x(own.parts[k]).toFixed(1), y(value ?? 0).toFixed(1)]);
  const path = (all) => all.map(([a, b], k) => `${k ? "L" : "M"}${a} ${b}`).join("");
  const picture = drawing("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curve", role: "img", "aria-label": `${title}; the tables below hold its numbers` });
  for (let k = 0; k <= 4; k += 1) {
    const value = low + (room * k) / 4;
    picture.append(drawing("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: "grid" }), drawing("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(2).replace("-", "−")));
    picture.append(drawing("text", { x: x((most * k) / 4), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, `${Math.round((100 * most * k) / 4)} %`));
  }
  picture.append(drawing("text", { x: (WIDTH + LEFT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, "of the words"));
  const styles = curves.map((own, m) => ({ chance: "chance", best: "best" })[own.kind] ?? styleOf(m));
  curves.forEach((own, m) => {
    picture.append(drawing("path", { d: `${path([...points(own, own.high), ...points(own, own.low).reverse()])}Z`, class: "band" }), drawing("path", { d: path(points(own, own.mean)), class: `line ${styles[m]}` }));
  });
  const key = element("ul", { class: "key" }, ...curves.map((own, m) => element("li", {}, sample(styles[m]), ` ${own.name}`)));
  return element("figure", {}, element("figcaption", {}, title), picture, key);
};

const drawnTable = ({ title, note, heads, rows }) => {
  const region = element(
    "div",
    { class: "scroll", tabIndex: 0 },
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, ...rows.map(([first, ...rest]) => element("tr", {}, element("th", { scope: "row" }, first), ...rest.map((cell) => element("td", {}, cell)))))
    )
  );
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", title);
  return element("section", {}, element("h3", {}, title), element("p", { class: "quiet" }, note), region);
};

export const evaluationView = async () => {
  let answer;
  try {
    answer = await get("/evaluation");
  } catch (error) {
    return element("p", { class: "warning", role: "alert" }, error.message);
  }
  const [first, ...rest] = answer.verdict;
  return element(
    "section",
    { class: "evaluation" },
    element("h2", {}, "Which explanation to trust"),
    element("p", {}, first ?? ""),
    element("ul", { class: "verdict" }, ...rest.map((sentence) => element("li", {}, sentence))),
    ...answer.curves.map(drawnCurves),
    ...answer.tables.map(drawnTable)
  );
};
