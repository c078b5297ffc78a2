// The page: what the server serves, the state in the fragment, and the views.

import { get, takeToken } from "./api.js";
import { announce, element } from "./dom.js";
import { Pane } from "./pane.js";
import { settingsOf } from "./settings.js";
import { DEFAULT, linkOf, stateOf } from "./state.js";

const main = document.getElementById("main-content");
let site, state, panes = [], settings, remember;

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.querySelector("textarea")?.focus();
});

const remembered = () => {
  clearTimeout(remember);
  remember = setTimeout(() => history.replaceState(null, "", linkOf(state)), 250);
};

const model = () => site.models.find((own) => own.name === state.a.model) ?? site.models[0];

const NEEDS_A_RUN = ["target", "against", "removal", "features", "output", "samples", "seed", "methods", "model"];

const changed = (what) => {
  if (what === "target" && (state.target === null || state.against === state.target)) state.against = null;
  if (what === "features") state.removed = [];
  if (what === "model" && !model().removals.includes(state.removal)) state.removal = model().removals[0] ?? "mask";
  remembered();
  if (what === "target" || what === "model") drawSettings();
  if (NEEDS_A_RUN.includes(what)) {
    for (const pane of panes) {
      if (what === "features") pane.removed.clear();
      pane.again();
    }
  }
  if (what === "colour") for (const pane of panes) pane.recolour();
};

const drawSettings = () => {
  const open = settings.querySelector("details.choose")?.open ?? false;
  const active = [...settings.querySelectorAll("select, input")].indexOf(document.activeElement);
  settings.replaceChildren(settingsOf(site, model(), state, changed));
  settings.querySelector("details.choose").open = open;
  if (active >= 0) settings.querySelectorAll("select, input")[active]?.focus();
};

const sideBySide = () => {
  const button = element("button", { type: "button", class: "beside", onclick: () => {
    state.b = state.b === null ? structuredClone(state.a) : null;
    remembered();
    drawTextView();
    announce(state.b === null ? "One text." : "Two texts, side by side.");
  } }, state.b === null ? "Compare with another text or model" : "Close the second one");
  return button;
};

const drawTextView = () => {
  for (const pane of panes) pane.close();
  settings = element("div", { class: "settings-box" });
  const grid = element("div", { class: state.b === null ? "panes" : "panes two" });
  main.replaceChildren(settings, grid, element("p", {}, sideBySide()));
  drawSettings();
  const owns = state.b === null ? [state.a] : [state.a, state.b];
  panes = owns.map((own, i) => new Pane(site, own, state, changed, owns.length === 1 ? "Text" : `Text ${i + 1}`));
  grid.append(...panes.map((pane) => pane.root));
  for (const pane of panes) {
    pane.editor.text = pane.own.text;
    pane.second.text = pane.own.second;
  }
};

const show = async () => {
  if (state.view === "corpus" && site.corpus) {
    const { CorpusView } = await import("./corpus.js");
    for (const pane of panes) pane.close();
    panes = [];
    main.replaceChildren(new CorpusView((text, second = "") => {
      state = { ...structuredClone(DEFAULT), a: { model: state.a.model, text, second } };
      go("text");
    }).root);
  } else if (state.view === "evaluation" && site.evaluation) {
    const { evaluationView } = await import("./evaluation.js");
    for (const pane of panes) pane.close();
    panes = [];
    main.replaceChildren(await evaluationView());
  } else {
    drawTextView();
  }
  drawViews();
};

const go = (view) => {
  state.view = view;
  history.replaceState(null, "", linkOf(state));
  show();
};

const drawViews = () => {
  const nav = document.getElementById("views");
  const views = [["text", "Text"], ...(site.corpus ? [["corpus", "Corpus"]] : []), ...(site.evaluation ? [["evaluation", "Evaluation"]] : [])];
  nav.hidden = views.length === 1;
  nav.replaceChildren(...views.map(([view, name]) => {
    const button = element("button", { type: "button", onclick: () => go(view) }, name);
    if (view === state.view) button.setAttribute("aria-current", "page");
    return button;
  }));
};

const begin = async () => {
  takeToken();
  try {
    const [described, methods] = await Promise.all([get("/models"), get("/methods")]);
    site = { ...described, methods };
  } catch (error) {
    main.replaceChildren(element("p", { class: "warning", role: "alert" }, error.message));
    return;
  }
  state = stateOf(location.hash) ?? structuredClone(DEFAULT);
  if (location.hash.startsWith("#v1=") && stateOf(location.hash) === null) announce("This link cannot be read.");
  window.addEventListener("hashchange", () => {
    state = stateOf(location.hash) ?? state;
    show();
  });
  await show();
};

begin();
