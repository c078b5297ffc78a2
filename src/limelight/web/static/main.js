// The page: what the server serves, the state in the fragment, and the views.

import { get, ofServer, onAnotherServer, takeToken } from "./api.js";
import { announce, element } from "./dom.js";
import { Pane } from "./pane.js";
import { settingsOf } from "./settings.js";
import { copy, DEFAULT, linkOf, stateOf, watched } from "./state.js";

const REST = 250;
// Milliseconds after a change until the address holds it.

const main = document.getElementById("main-content");
let site, state, panes = [], settings, remember, shown = null;

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.querySelector("textarea")?.focus();
});

// ── the state, and its link ─────────────────────────────────────────────────────────────────────────────────────────

const keep = () => {
  clearTimeout(remember);
  remember = null;
  history.replaceState(null, "", linkOf(state));
};

const remembered = () => {
  clearTimeout(remember);
  remember = setTimeout(keep, REST);
};

const address = () => {
  keep();
  return location.href;
};

// A state that names the models that it means. What this server does not have is said, and the first one stands instead.
const adopted = (given) => {
  const unknown = [];
  for (const own of [given.a, given.b]) {
    if (own === null || site.models.some((model) => model.name === own.model)) continue;
    if (own.model !== null) unknown.push(own.model);
    own.model = site.models[0].name;
    if (unknown.length) own.removed = [];
  }
  const told = unknown.length ? `This server has no model “${unknown[0]}”: “${site.models[0].shown}” is shown instead.` : null;
  return { state: watched(given, () => panes.forEach((pane) => pane.board.refresh())), told };
};

const model = () => site.models.find((own) => own.name === state.a.model) ?? site.models[0];

const NEEDS_A_RUN = ["target", "against", "removal", "features", "output", "samples", "seed", "methods", "model"];

const changed = (what) => {
  if (what === "target" && (state.target === null || state.against === state.target)) state.against = null;
  if (what === "features") for (const pane of panes) pane.forget();
  if (what === "model" && !model().removals.includes(state.removal)) state.removal = model().removals[0] ?? "mask";
  remembered();
  if (what === "target" || what === "model") drawSettings();
  if (NEEDS_A_RUN.includes(what)) for (const pane of panes) pane.again();
};

// ── the views ───────────────────────────────────────────────────────────────────────────────────────────────────────

const drawSettings = () => {
  const open = settings.querySelector("details.choose")?.open ?? false;
  const active = [...settings.querySelectorAll("select, input")].indexOf(document.activeElement);
  settings.replaceChildren(settingsOf(site, model(), state, changed));
  settings.querySelector("details.choose").open = open;
  if (active >= 0) settings.querySelectorAll("select, input")[active]?.focus();
};

const sideBySide = () => {
  const button = element("button", { type: "button", class: "beside", onclick: () => {
    state.b = state.b === null ? copy(state.a) : null;
    remembered();
    drawTextView();
    announce(state.b === null ? "One text." : "Two texts, side by side.");
  } }, state.b === null ? "Compare with another text or model" : "Close the second one");
  return button;
};

const closePanes = () => {
  for (const pane of panes) pane.close();
  panes = [];
};

const drawTextView = () => {
  closePanes();
  settings = element("div", { class: "settings-box" });
  const grid = element("div", { class: state.b === null ? "panes" : "panes two" });
  main.replaceChildren(settings, grid, element("p", {}, sideBySide()));
  drawSettings();
  const owns = state.b === null ? ["a"] : ["a", "b"];
  panes = owns.map((which, i) => new Pane(site, state[which], state, changed, owns.length === 1 ? "Text" : `Text ${i + 1}`, address));
  grid.append(...panes.map((pane) => pane.root));
  for (const pane of panes) pane.fit();
};

const show = async (told = null) => {
  shown?.close();
  shown = null;
  const asked = state;
  if (state.view === "corpus" && site.corpus) {
    const { CorpusView } = await import("./corpus.js");
    if (state !== asked || state.view !== "corpus") return;
    closePanes();
    shown = new CorpusView((text, second = "") => {
      adopt({ ...copy(DEFAULT), a: { model: state.a.model, text, second, removed: [] } });
      go("text");
    });
    main.replaceChildren(shown.root);
  } else if (state.view === "evaluation" && site.evaluation) {
    const { evaluationView } = await import("./evaluation.js");
    const drawn = await evaluationView();
    if (state !== asked || state.view !== "evaluation") return;
    closePanes();
    main.replaceChildren(drawn);
  } else {
    drawTextView();
  }
  if (told) main.prepend(element("p", { class: "notice", role: "alert" }, told));
  drawViews();
};

const go = (view) => {
  state.view = view;
  keep();
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

// ── beginnings ──────────────────────────────────────────────────────────────────────────────────────────────────────

const adopt = (given) => {
  const own = adopted(given);
  state = own.state;
  return own.told;
};

// What the address holds; where it holds nothing that can be read, what is there already.
const fromAddress = () => {
  const given = stateOf(location.hash);
  const isDamaged = given === null && location.hash.startsWith("#v1=");
  const told = adopt(given ?? (state ? copy(state) : copy(DEFAULT)));
  keep();
  return isDamaged ? "This link cannot be read: parts of it are missing, or it is of another version." : told;
};

let beginnings = 0;

// Ask what there is, and show it: at first, and whenever another server has taken the place of the one before.
const begin = async () => {
  const own = (beginnings += 1);
  try {
    const [described, methods] = await Promise.all([get("/models"), get("/methods")]);
    if (own !== beginnings) return;
    site = { ...described, methods, server: ofServer() };
  } catch (error) {
    if (own === beginnings) main.replaceChildren(element("p", { class: "warning", role: "alert" }, error.message));
    return;
  }
  await show(fromAddress());
};

takeToken();
onAnotherServer(() => {
  if (state) keep();
  closePanes();
  begin();
});
window.addEventListener("hashchange", () => {
  if (!site) return;
  clearTimeout(remember);
  show(fromAddress());
});
window.addEventListener("pagehide", () => { if (remember) keep(); });
// A page that comes back from where browsers keep pages asks anew: the server may be another one by now.
window.addEventListener("pageshow", (event) => { if (event.persisted) begin(); });
begin();
