// What the model says without some words, beside what each method had said it would.

import { element } from "./dom.js";

export const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

const predictedBy = (row, gone) => {
  const sum = -gone.reduce((all, j) => all + (row.explanation.weights[j] ?? 0), 0);
  const widths = gone.map((j) => row.drawn.half_width[j]);
  const most = widths.some((width) => width === null) ? null : widths.reduce((a, b) => a + b, 0);
  return element("li", {}, element("strong", {}, row.label), ` ${signed(sum)}${most === null ? "" : ` ± ${most.toFixed(3)}`}`);
};

// `removed`: the model's answer; `names`: of the features; `rows`: what methods have answered by now.
export const drawnWhatIf = (removed, names, rows, putBack) => {
  const { before, after, outputs, output, asked } = removed;
  const usable = rows.filter((row) => row.drawn), gone = asked.removed;
  const shown = (label) => before.shown[before.labels.indexOf(label)];
  const about = `${shown(asked.target ?? before.label)}${asked.against === null ? "" : ` rather than ${shown(asked.against)}`}`;
  const silent = usable.filter((row) => !row.explanation.signed).map((row) => row.label);
  const lines = usable.filter((row) => row.explanation.signed).map((row) => predictedBy(row, gone));
  const told = [
    element(
      "p",
      {},
      `Without ${gone.map((j) => `“${names[j]}”`).join(", ")} the ${output} of ${about} moves by `,
      element("strong", {}, signed(outputs[1] - outputs[0])),
      `, from ${signed(outputs[0])} to ${signed(outputs[1])}.`,
      before.label === after.label ? "" : " The decision changes."
    ),
    lines.length ? element("p", {}, "What the methods said would happen, by the weights of these words:") : null,
    lines.length ? element("ul", { class: "said-before" }, ...lines) : null,
    silent.length ? element("p", { class: "quiet" }, `${silent.join(", ")} give no direction.`) : null,
    element("button", { type: "button", onclick: putBack }, "Put all words back"),
  ];
  return told.filter((own) => own !== null);
};
