// An evaluation: its verdict in sentences, its curves, its tables.

import { get } from "./api.js";
import { drawing, element, line, table } from "./dom.js";
import { chart, path, sample, styleOf, tick, WIDEST } from "./curve.js";

const HEIGHT = 280;

const drawnCurves = ({ title, curves }) => {
  const all = curves.flatMap((own) => [...own.mean, ...own.low, ...own.high]).filter((value) => value !== null);
  const most = Math.max(...curves.flatMap((own) => own.parts));
  const { picture, x, y } = chart({ width: WIDEST, height: HEIGHT, low: Math.min(0, ...all), high: Math.max(...all), most, says: `${title}; the tables below hold its numbers`, below: "of the words" });
  const points = (own, values) => values.map((value, k) => [x(own.parts[k]), y(value ?? 0)]);
  for (let k = 0; k <= 4; k += 1) picture.append(tick(x((most * k) / 4), HEIGHT, `${Math.round((100 * most * k) / 4)} %`));
  const styles = curves.map((own, m) => ({ chance: "chance", best: "best" })[own.kind] ?? styleOf(m));
  curves.forEach((own, m) => {
    picture.append(drawing("path", { d: `${path([...points(own, own.high), ...points(own, own.low).reverse()])}Z`, class: "band" }), drawing("path", { d: path(points(own, own.mean)), class: `line ${styles[m]}` }));
  });
  const key = element("ul", { class: "key" }, ...curves.map((own, m) => element("li", {}, sample(styles[m]), ` ${own.name}`)));
  return element("figure", {}, element("figcaption", {}, title), picture, key);
};

const drawnTable = ({ title, note, heads, rows }) =>
  element("section", {}, element("h3", {}, title), element("p", { class: "quiet" }, note), table(title, heads, rows.map(line)));

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
