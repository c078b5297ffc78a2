// What the model says: a bar per label, and where words are taken out, a second one for what it says then.

import { element, withVariables } from "./dom.js";

const bar = (share, kind) =>
  withVariables(element("div", { class: `bar ${kind}` }, element("div", {})), { share: `${(100 * share).toFixed(2)}%` });

const share = (prediction, c) => {
  if (prediction.probabilities) return prediction.probabilities[c] ?? 0;
  return 0;
};

export const drawnPrediction = (before, after = null) => {
  const order = before.labels.map((_, c) => c).sort((one, other) => before.logits[other] - before.logits[one]).slice(0, 8);
  const lines = order.map((c) => {
    const said = [element("div", { class: "label" }, element("bdi", {}, before.shown[c]))];
    const bars = element("div", { class: "bars" });
    if (before.probabilities) bars.append(bar(share(before, c), after ? "before" : ""));
    if (before.probabilities && after) bars.append(bar(share(after, c), "after"));
    const number = after ? `${before.said[c]} → ${after.said[c]}` : before.said[c];
    said.push(bars, element("div", { class: "said" }, number));
    return element("li", { class: before.labels[c] === before.label ? "first" : "" }, ...said);
  });
  const rest = before.labels.length - order.length;
  if (rest > 0) lines.push(element("li", { class: "quiet" }, `and ${rest} more labels`));
  return element("ol", { class: "prediction" }, ...lines);
};
