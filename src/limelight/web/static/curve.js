// The removal curve: what the model says while words go, in each method's order, beside chance and the best possible.

import { drawing, element, fixed, line, table } from "./dom.js";

export const WIDEST = 720;
const HEIGHT = 300, LEFT = 56, RIGHT = 12, TOP = 12, BOTTOM = 40;
const COLOURS = 8;
export const styleOf = (m) => `m${m % COLOURS}${m < COLOURS ? "" : " again"}`;

// The order in which a method would take words out: what speaks most for the target first.
export const orderOf = ({ explanation }) =>
  explanation.features.map((_, j) => j).sort((one, other) => (explanation.weights[other] ?? 0) - (explanation.weights[one] ?? 0) || one - other);

// Through points in the picture.
export const path = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

export const tick = (x, height, said) => drawing("text", { x, y: height - BOTTOM + 16, "text-anchor": "middle" }, said);

// A picture with a scale of values from `low` to `high`, and where numbers from 0 to `most` stand in it.
export const chart = ({ width, height, low, high, most, says, below }) => {
  const range = high - low || 1;
  const x = (size) => LEFT + ((width - LEFT - RIGHT) * size) / most;
  const y = (value) => TOP + ((height - TOP - BOTTOM) * (high - value)) / range;
  const picture = drawing("svg", { viewBox: `0 0 ${width} ${height}`, class: "curve", role: "img", "aria-label": says });
  for (let k = 0; k <= 4; k += 1) {
    const value = low + (range * k) / 4;
    picture.append(
      drawing("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "grid" }),
      drawing("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, fixed(value, 2))
    );
  }
  picture.append(drawing("text", { x: (width + LEFT) / 2, y: height - 6, "text-anchor": "middle" }, below));
  return { picture, x, y };
};

// `room`: how wide the picture may be; letters keep their size.
export const drawnCurve = (answer, labels, about, room) => {
  const { sizes, chance, half_width: half, lowest, bound, orders } = answer;
  const all = [...Object.values(orders).flat(), ...chance, ...lowest, ...bound].filter((value) => value !== null);
  const { picture, x, y } = chart({
    width: Math.max(300, Math.min(WIDEST, room)),
    height: HEIGHT,
    low: Math.min(...all),
    high: Math.max(...all),
    most: Math.max(answer.features, 1),
    says: "Removal curve; its numbers are in the table below",
    below: "words taken out",
  });
  const points = (values) => values.map((value, k) => [x(sizes[k]), y(value)]);
  const area = (upper, lower) => `${path([...points(upper), ...points(lower).reverse()])}Z`;
  const steps = Math.max(1, Math.ceil(answer.features / 6));
  for (let size = 0; size <= answer.features; size += steps) {
    picture.append(tick(x(size), HEIGHT, String(size)));
  }
  if (bound.every((value) => value !== null)) picture.append(drawing("path", { d: area(lowest, bound), class: "gap" }));
  if (half.some((value) => value > 0)) {
    const upper = chance.map((value, k) => value + half[k]), lower = chance.map((value, k) => value - half[k]);
    picture.append(drawing("path", { d: area(upper, lower), class: "band" }));
  }
  picture.append(drawing("path", { d: path(points(chance)), class: "line chance" }), drawing("path", { d: path(points(lowest)), class: "line best" }));
  Object.values(orders).forEach((values, m) => picture.append(drawing("path", { d: path(points(values)), class: `line ${styleOf(m)}` })));
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
    ...Object.keys(answer.orders).map((id, m) => element("li", {}, sample(styleOf(m)), ` ${labels[id] ?? id}: falls by ${fixed(answer.area[id], 3)} on average`)),
    element("li", {}, sample("chance"), ` ${chance}`),
    element("li", {}, sample("best"), ` ${best}`)
  );
};

const numbers = (answer, labels) => {
  const ids = Object.keys(answer.orders);
  const heads = ["words out", ...ids.map((id) => labels[id] ?? id), "chance", "lowest", "none below"];
  const columns = [...ids.map((id) => answer.orders[id]), answer.chance, answer.lowest, answer.bound];
  const lines = answer.sizes.map((size, k) => line([String(size), ...columns.map((values) => fixed(values[k], 4))]));
  return element("details", {}, element("summary", {}, "The curve in numbers"), table("Numbers of the removal curve", heads, lines));
};
