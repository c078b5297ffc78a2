// One row of coloured words per method, word below word, with the interval of each weight on its own small scale.

import { element, withVariables } from "./dom.js";

export const reach = (row) =>
  row.explanation.weights.reduce(
    (most, weight, j) => Math.max(most, Math.abs(weight ?? 0) + (row.drawn.half_width[j] ?? 0)),
    0
  );

// Bar and interval in hundredths of the longest of a row.
export const scaled = (row, j, longest) => {
  const weight = row.explanation.weights[j], half = row.drawn.half_width[j];
  if (weight === null || !longest) return {};
  const hundredths = (value) => ((100 * value) / longest).toFixed(1);
  return { v: hundredths(weight), ...(half === null ? {} : { i: hundredths(half) }) };
};

const word = (text, row, j, longest, removed) => {
  const { drawn } = row;
  const names = ["word", drawn.shades[j] || "x", drawn.told[j] ? "" : "faint", drawn.unknown.includes(j) ? "u" : ""];
  if (row.explanation.stderr !== null && drawn.settled[j]) names.push("settled");
  if (removed.has(j)) names.push("gone");
  const made = element("span", { class: names.filter(Boolean).join(" "), title: drawn.written[j] }, text);
  made.dataset.feature = j;
  made.dataset.hue = drawn.hues[j];
  return withVariables(made, scaled(row, j, longest));
};

export const drawnWords = (texts, makeWord) =>
  texts.map((pieces) =>
    element(
      "div",
      { class: "words", dir: "auto" },
      ...pieces.map(([text, feature]) =>
        text === "\n" ? element("br") : feature < 0 ? document.createTextNode(text) : makeWord(text, feature)
      )
    )
  );

export const drawnRow = (row, texts, removed) => {
  const name = element("div", { class: "name" }, element("strong", {}, row.label));
  const made = element("div", { class: "row", role: "group", "aria-label": row.label }, name);
  if (row.failed) {
    made.append(element("p", { class: "warning" }, row.failed));
    return made;
  }
  if (!row.drawn) {
    made.append(element("p", { class: "quiet" }, row.stopped ? "stopped before it had anything to say" : "…"));
    return made;
  }
  const { drawn, explanation } = row;
  const samples = explanation.parameters.n_samples;
  name.append(element("small", { class: "quiet" }, drawn.accuracy));
  if (explanation.stderr !== null && Number.isInteger(samples)) {
    const stable = drawn.settled.filter(Boolean).length;
    const state = explanation.diagnostics.stopped === "interrupted" ? ", stopped" : row.last ? "" : row.stopped ? ", stopped" : ", drawing on";
    name.append(
      element("small", { class: "quiet" }, `${samples.toLocaleString("en")} samples${state}`),
      element("small", { class: "quiet" }, `${stable} ${stable === 1 ? "word" : "words"} stable`)
    );
  }
  const longest = reach(row);
  const body = element("div", {}, ...drawnWords(texts, (text, j) => word(text, row, j, longest, removed)));
  for (const notice of row.last ? drawn.notices : []) body.append(element("p", { class: "quiet" }, notice));
  for (const warning of row.last ? drawn.warnings : []) body.append(element("p", { class: "warning" }, `⚠ ${warning}`));
  made.append(body);
  return made;
};
