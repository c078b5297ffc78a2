// The removal curve: what the model says while words go, in each method's order, beside chance and the best possible.

import { drawing, element } from "./dom.js";

const WIDEST = 720, HEIGHT = 300, LEFT = 56, RIGHT = 12, TOP = 12, BOTTOM = 40;
const COLOURS = 8;
export const styleOf = (m) => `m${m % COLOURS}${m < COLOURS ? "" : " again"}`;

// The order in which a method would take words out: what speaks most for the target first.
export const orderOf = ({ explanation }) =>
  explanation.features.map((_, j) => j).sort((one, other) => (explanation.weights[other] ?? 0) - (explanation.weights[one] ?? 0) || one - other);

// `room`: how wide the picture may be; letters keep their size.
export const drawnCurve = (answer, labels, about, room) => {
  const WIDTH = Math.max(300, Math.min(WIDEST, room));
  const { sizes, chance, half_width: half, lowest, bound, orders } = answer;
  const all = [...Object.values(orders).flat(), ...chance, ...lowest, ...bound].filter((value) => value !== null);
  const low = Math.min(...all), high = Math.max(...all), range = high - low || 1;
  const x = (size) => LEFT + ((WIDTH - LEFT - RIGHT) * size) / Math.max(answer.features, 1);
  const y = (value) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - value)) / range;
  const path = (values) => values.map((value, k) => `${k ? "L" : "M"}${x(sizes[k]).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const area = (upper, lower) =>
    `${path(upper)}${lower.map((value, k) => [k, value]).reverse().map(([k, value]) => `L${x(sizes[k]).toFixed(1)} ${y(value).toFixed(1)}`).join("")}Z`;
  const picture = drawing("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curve", role: "img", "aria-label": "Removal curve; its numbers are in the table below" });
  for (let k = 0; k <= 4; k += 1) {
    const value = low + (range * k) / 4;
    picture.append(
      drawing("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: "grid" }),
      drawing("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(2).replace("-", "−"))
    );
  }
  const steps = Math.max(1, Math.ceil(answer.features / 6));
  for (let size = 0; size <= answer.features; size += steps) {
    picture.append(drawing("text", { x: x(size), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, String(size)));
  }
  picture.append(drawing("text", { x: (WIDTH + LEFT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, "words taken out"));
  if (bound.every((value) => value !== null)) picture.append(drawing("path", { d: area(lowest, bound), class: "gap" }));
  if (half.some((value) => value > 0)) {
    const upper = chance.map((value, k) => value + half[k]), lower = chance.map((value, k) => value - half[k]);
    picture.append(drawing("path", { d: area(upper, lower), class: "band" }));
  }
  picture.append(drawing("path", { d: path(chance), class: "line chance" }), drawing("path", { d: path(lowest), class: "line best" }));
  Object.values(orders).forEach((values, m) => picture.append(drawing("path", { d: path(values), class: `line ${styleOf(m)}` })));
  return element("div", {}, element("p", { class: "quiet" }, about), picture, key(answer, labels), numbers(answer, labels));
};

export const sample = (kind) => {
  const picture = drawing("svg", { viewBox: "0 0 28 8", class: "sample" }, drawing("path", { d: "M0 4H28", class: `line ${kind}` }));
  picture.setAttribute("aria-hidden", "true");
  return picture;
};

const key = (answer, labels) => {
  const best = answer.exact ? "the lowest there is, and what no choice of words goes below" : "the lowest that was seen; nothing is proven";
  const chance = answer.exact ? "chance: the mean over all choices of so many words, without sampling" : "chance: the mean of 24 random orders, with its 95 % interval";
  return element(
    "ul",
    { class: "key" },
    ...Object.keys(answer.orders).map((id, m) => element("li", {}, sample(styleOf(m)), ` ${labels[id] ?? id}: falls by ${answer.area[id].toFixed(3).replace("-", "−")} on average`)),
    element("li", {}, sample("chance"), ` ${chance}`),
    element("li", {}, sample("best"), ` ${best}`)
  );
};

const numbers = (answer, labels) => {
  const ids = Object.keys(answer.orders);
  const said = (value) => (value === null ? "" : value.toFixed(4).replace("-", "−"));
  const heads = ["words out", ...ids.map((id) => labels[id] ?? id), "chance", "lowest", "none below"];
  const lines = answer.sizes.map((size, k) => [String(size), ...ids.map((id) => said(answer.orders[id][k])), said(answer.chance[k]), said(answer.lowest[k]), said(answer.bound[k])]);
  const table = element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...lines.map(([first, ...rest]) => element("tr", {}, element("th", { scope: "row" }, first), ...rest.map((cell) => element("td", {}, cell)))))
  );
  const region = element("div", { class: "scroll", tabIndex: 0 }, table);
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", "Numbers of the removal curve");
  return element("details", {}, element("summary", {}, "The curve in numbers"), region);
};
