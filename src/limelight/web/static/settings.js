// What is asked of every text: label, methods, features, removal, output, seed and samples.

import { chooser, element, labelled } from "./dom.js";

const NONE = "";

export const settingsOf = (site, model, state, changed) => {
  const set = (name) => (value) => {
    state[name] = value === NONE ? null : value;
    changed(name);
  };
  const plain = (name) => (value) => {
    state[name] = value;
    changed(name);
  };
  const labels = model.labels.map((label) => [label.name, label.shown]);
  const known = (name) => (model.labels.some((label) => label.name === name) ? name : NONE);
  const fields = [
    labelled("Explain", chooser([[NONE, "what it predicts"], ...labels], known(state.target) ?? NONE, set("target"))),
    labelled("rather than", chooser([[NONE, "anything else"], ...labels.filter(([name]) => name !== state.target)], known(state.against), set("against"))),
    labelled("Take a word out by", chooser(model.removals.map((name) => [name, { mask: "masking it", delete: "deleting it", attention: "hiding it from attention" }[name]]), state.removal, plain("removal"))),
    labelled("Weights on", chooser([["words", "words"], ["occurrences", "each occurrence"], ["phrases", "phrases"], ["sentences", "sentences"]], state.features, plain("features"))),
    labelled("Output", chooser([[NONE, `${model.outputs[0]} (usual)`], ...model.outputs.slice(1).map((name) => [name, name])], model.outputs.slice(1).includes(state.output) ? state.output : NONE, set("output"))),
    labelled("Samples", number(state.samples, "until stable", 2, site.limits.samples, (value) => plain("samples")(value))),
    labelled("Seed", number(state.seed, 0, 0, Number.MAX_SAFE_INTEGER, (value) => plain("seed")(value ?? 0))),
  ];
  fields[1].querySelector("select").disabled = known(state.target) === NONE;
  return element("form", { class: "settings", onsubmit: (event) => event.preventDefault() }, ...fields, methodsOf(site, model, state, changed));
};

const number = (value, usual, least, most, onchange) => {
  const made = element("input", { type: "number", min: least, max: most, step: 1, placeholder: String(usual), value: value ?? "" });
  made.addEventListener("change", () => {
    const given = made.value === "" ? null : Math.round(Number(made.value));
    made.setCustomValidity(given !== null && !(given >= least && given <= most) ? `from ${least} to ${most.toLocaleString("en")}` : "");
    if (made.reportValidity()) onchange(given);
  });
  return made;
};

const methodsOf = (site, model, state, changed) => {
  const box = element("fieldset", { class: "methods" }, element("legend", {}, "Methods"));
  const able = site.methods.filter((method) => model.methods.includes(method.id));
  for (const method of able) {
    const control = element("input", {
      type: "checkbox",
      value: method.id,
      checked: state.methods === null ? false : state.methods.includes(method.id),
      onchange: () => {
        const chosen = [...box.querySelectorAll("input:checked")].map((own) => own.value);
        state.methods = chosen.length ? chosen : null;
        changed("methods");
      },
    });
    box.append(element("label", { title: method.summary }, control, ` ${method.label}`));
  }
  return element("details", { class: "choose" }, element("summary", {}, state.methods === null ? "Methods: the usual ones" : `Methods: ${state.methods.length} chosen`), box, element("p", { class: "quiet" }, "None chosen: the usual ones for this model."));
};
