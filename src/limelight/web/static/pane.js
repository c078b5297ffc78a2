// One model looking at one text: typing, prediction, rows, numbers, what if, the removal curve, and how to share it.

import { events, isAbort, post } from "./api.js";
import { drawnCurve, orderOf } from "./curve.js";
import { announce, chooser, element, labelled } from "./dom.js";
import { Editor } from "./editor.js";
import { drawnPrediction } from "./prediction.js";
import { drawnRow, drawnWords } from "./rows.js";
import { sharing } from "./share.js";
import { Numbers } from "./table.js";

const IDLE = 450;
// Milliseconds without a keystroke after which all methods are asked.

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

export class Pane {
  // `own`: {model, text, second}. `site`: models and methods. `settings`: what all panes share. `changed` is told.
  constructor(site, own, settings, changed, name) {
    Object.assign(this, { site, own, settings, changed, name });
    this.rows = [];
    this.text = null;
    this.removed = new Set(settings.removed);
    this.numbers = new Numbers();
    this.#build();
    this.editor.text = own.text;
    this.second.text = own.second;
    this.#suitModel();
    this.runLive();
    this.runAll();
  }

  get model() {
    return this.site.models.find((model) => model.name === this.own.model) ?? this.site.models[0];
  }

  // ── what it is made of ───────────────────────────────────────────────────────────────────────────────────────────

  #build() {
    this.editor = new Editor("Text", null, () => this.#typed());
    this.second = new Editor("Second text", "this model reads pairs", () => this.#typed());
    const models = this.site.models.map((model) => [model.name, model.shown]);
    this.modelChooser = labelled(
      "Model",
      chooser(models, this.model.name, (name) => {
        this.own.model = name;
        this.changed("model");
      })
    );
    this.modelChooser.hidden = models.length === 1;
    this.trouble = element("p", { class: "warning", role: "alert", hidden: true });
    this.notices = element("div", {});
    this.said = element("div", { class: "said-of" });
    this.colours = element("div", { class: "field inline" });
    this.legend = element("p", { class: "legend" });
    this.stopButton = element("button", { type: "button", class: "stop", hidden: true, onclick: () => this.stop() }, "Stop");
    this.bar = element("progress", { max: 1, value: 0, hidden: true });
    this.bar.setAttribute("aria-label", "Progress");
    this.work = element("span", { class: "quiet work" });
    this.words = element("div", { class: "toggles" });
    this.words.setAttribute("role", "group");
    this.words.setAttribute("aria-label", "Words of the text: press one to take it out");
    this.words.addEventListener("keydown", (event) => this.#moved(event));
    this.whatIf = element("div", { class: "what-if", hidden: true });
    this.rowsElement = element("div", { class: "rows" });
    this.rowsElement.addEventListener("click", (event) => {
      const word = event.target.closest("[data-feature]");
      if (word) this.#toggle(Number(word.dataset.feature));
    });
    this.curveBody = element("div", {});
    this.curveDetails = element("details", { class: "curves", ontoggle: () => this.#drawCurve() }, element("summary", {}, "Removal curve"), this.curveBody);
    this.numbersDetails = element("details", { class: "weights" }, element("summary", {}, "All weights"), this.numbers.root);
    this.share = sharing(this);
    this.root = element(
      "section",
      { class: "pane" },
      this.modelChooser,
      this.editor.root,
      this.second.root,
      this.trouble,
      this.notices,
      element("h2", {}, "What the model says"),
      this.said,
      element("h2", {}, "What if a word were gone?"),
      this.words,
      this.whatIf,
      element("div", { class: "heading" }, element("h2", {}, "What each method says"), element("div", { class: "running" }, this.work, this.bar, this.stopButton)),
      this.colours,
      this.legend,
      this.rowsElement,
      this.numbersDetails,
      this.curveDetails,
      this.share.root
    );
    this.root.setAttribute("aria-label", this.name);
  }

  #suitModel() {
    this.second.root.hidden = !this.model.pairs;
  }

  // ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #question(more = {}) {
    const { settings } = this;
    const labels = this.model.labels.map((label) => label.name);
    const target = labels.includes(settings.target) ? settings.target : null;
    const against = target !== null && labels.includes(settings.against) ? settings.against : null;
    return {
      model: this.model.name,
      text: this.model.pairs ? [this.own.text, this.own.second] : this.own.text,
      features: settings.features,
      removal: settings.removal,
      output: settings.output,
      target,
      against,
      ...more,
    };
  }

  explainQuestion(more = {}) {
    const { settings } = this;
    const able = settings.methods?.filter((id) => this.model.methods.includes(id)) ?? null;
    const drawn = settings.samples === null ? { until: "stable" } : { samples: settings.samples };
    return this.#question({ methods: able?.length ? able : null, seed: settings.seed, ...drawn, ...more });
  }

  #typed() {
    performance.mark("limelight-key");
    this.own.text = this.editor.text;
    this.own.second = this.second.text;
    this.removed.clear();
    this.settings.removed = [];
    this.changed("text");
    this.runLive();
    clearTimeout(this.idle);
    this.rowsElement.classList.add("stale");
    this.#abortAll();
    this.idle = setTimeout(() => this.runAll(), IDLE);
  }

  // Settings or the model have changed.
  again() {
    this.#suitModel();
    this.rowsElement.classList.add("stale");
    this.runLive();
    this.runAll();
  }

  // What follows a typing hand: one question at a time, the last one wins.
  async runLive() {
    if (this.liveRunning) {
      this.liveWanted = true;
      return;
    }
    this.liveRunning = true;
    do {
      this.liveWanted = false;
      const text = this.editor.text, second = this.second.text;
      try {
        const live = this.#liveMethod();
        if (live) {
          const answer = await post("/explain", this.#question({ methods: [live], seed: this.settings.seed }));
          this.#seenLive(text, second, answer);
        } else {
          const { model, text: asked } = this.#question();
          this.#seenPrediction(await post("/predict", { model, text: asked }));
        }
        this.#trouble(null);
      } catch (error) {
        if (text === this.editor.text) this.#trouble(error);
      }
    } while (this.liveWanted);
    this.liveRunning = false;
  }

  // The method that colours follow, if it is quick enough.
  #liveMethod() {
    const chosen = this.settings.colour;
    const method = this.site.methods.find((one) => one.id === chosen);
    if (method && this.model.live && this.model.methods.includes(chosen) && !method.ways.some((way) => way.sampled)) return chosen;
    return this.settings.removal === "attention" ? null : this.model.live;
  }

  #seenLive(text, second, answer) {
    if (text !== this.editor.text || second !== this.second.text) return;
    const [explanation] = answer.comparison.explanations, [drawn] = answer.rows;
    this.#seenPrediction(answer.prediction);
    if (!this.#colouredByRow()) this.#colourEditor(explanation, drawn);
    performance.mark("limelight-coloured");
    this.#seenText(answer.text);
  }

  #colourEditor(explanation, drawn) {
    const of = (side) => explanation.spans.map((own, j) => ((explanation.sides?.[j] ?? 0) === side ? own : []));
    this.editor.colour(this.own.text, of(0), drawn.shades);
    if (this.model.pairs) this.second.colour(this.own.second, of(1), drawn.shades);
    this.legend.replaceChildren(
      ...drawn.legend.map(({ hue, says }) => element("span", {}, element("span", { class: `swatch ${hue}16` }, "   "), " ", element("bdi", {}, says))),
      element("span", { class: "quiet" }, `colours by ${explanation.label}; a line below a word is its weight with its interval (of those of the coloured words 95 % hold the true weight); faint words are not told from zero`)
    );
  }

  // Whether the row that colours were chosen by is there, so that nothing else is to repaint them.
  #colouredByRow() {
    return this.rows.length > 0 && !this.rowsElement.classList.contains("stale") && this.#colouringRow() !== null;
  }

  #colouringRow() {
    const usable = this.rows.filter((row) => row.drawn);
    return usable.find((row) => row.id === this.settings.colour) ?? usable.find((row) => row.id === this.model.live) ?? usable.find((row) => row.explanation.signed) ?? usable[0] ?? null;
  }

  #seenPrediction(prediction) {
    this.prediction = prediction;
    if (!this.removed.size) this.said.replaceChildren(drawnPrediction(prediction));
  }

  #seenText(text) {
    const drawn = JSON.stringify(text);
    if (this.textDrawn === drawn) return;
    this.textDrawn = drawn;
    this.text = text;
    this.notices.replaceChildren(...text.notices.map((notice) => element("p", { class: "notice" }, notice)));
    this.#drawWords();
  }

  #abortAll() {
    this.controller?.abort();
    this.controller = null;
  }

  async runAll() {
    clearTimeout(this.idle);
    this.#abortAll();
    const controller = (this.controller = new AbortController());
    this.job = null;
    this.#running("asking");
    try {
      for await (const [event, data] of events("/compare", this.explainQuestion({ settle: true }), controller.signal)) {
        if (this.controller !== controller) return;
        this.#heard(event, data);
      }
    } catch (error) {
      if (this.controller !== controller || isAbort(error)) return;
      this.#trouble(error);
      this.rows = [];
      this.rowsElement.replaceChildren();
    }
    if (this.controller === controller) {
      this.controller = null;
      this.#running(null);
      this.#drawCurve();
    }
  }

  #heard(event, data) {
    if (event === "job") this.job = data.job;
    if (event === "begun") {
      this.#trouble(null);
      this.rows = data.methods.map((method) => ({ ...method, drawn: null }));
      this.recipe = data.recipe;
      this.#seenPrediction(data.prediction);
      this.#seenText(data.text);
      this.rowsElement.classList.remove("stale");
      this.#drawRows();
    }
    if (event === "progress") this.#progress(data);
    if (event === "row") {
      Object.assign(this.rows[data.row], { explanation: data.explanation, drawn: data.drawn, last: data.last });
      this.#drawRow(data.row);
    }
    if (event === "failed") {
      this.rows[data.row].failed = data.message;
      this.#drawRow(data.row);
    }
    if (event === "stopped") {
      for (const row of this.rows) if (!row.last) row.stopped = true;
      if (this.text) this.#drawRows();
      announce("Stopped.");
    }
    if (event === "error") this.#trouble(data);
    if (event === "done") {
      this.numbers.show(this.text.names, this.rows);
      this.share.update();
      this.#drawWhatIf();
      if (this.removed.size) this.#remove();
      announce(`${this.rows.length} methods have answered.`);
    }
  }

  async stop() {
    if (!this.job) return;
    try {
      await post("/cancel", { job: this.job });
    } catch {
      // It was over already.
    }
  }

  #running(what) {
    this.stopButton.hidden = this.bar.hidden = what === null;
    this.work.textContent = what === null ? "" : what;
    this.rowsElement.setAttribute("aria-busy", String(what !== null));
    if (what !== null) this.bar.removeAttribute("value");
  }

  #progress({ row, task, steps, done }) {
    this.work.textContent = `${this.rows[row]?.label ?? ""}: ${task}`;
    if (steps) this.bar.value = Math.min(done / steps, 1);
  }

  #trouble(error) {
    this.trouble.hidden = error === null;
    this.trouble.textContent = error === null ? "" : error.message;
  }

  // ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #drawRows() {
    this.rowsElement.replaceChildren(...this.rows.map((row) => drawnRow(row, this.text.texts, this.removed)));
    this.#drawColours();
    this.numbers.show(this.text.names, this.rows);
  }

  #drawRow(i) {
    this.rowsElement.children[i]?.replaceWith(drawnRow(this.rows[i], this.text.texts, this.removed));
    this.#drawColours();
    this.numbers.show(this.text.names, this.rows);
    this.share.update();
  }

  #drawColours() {
    const usable = this.rows.filter((row) => row.drawn), chosen = this.#colouringRow();
    if (!chosen) return;
    const made = chooser(usable.map((row) => [row.id, row.label]), chosen.id, (id) => {
      this.settings.colour = id;
      this.changed("colour");
    });
    if (!this.colours.contains(document.activeElement)) this.colours.replaceChildren(...labelled("Colours of the text by", made).childNodes);
    this.#colourEditor(chosen.explanation, chosen.drawn);
  }

  recolour() {
    if (this.rows.some((row) => row.drawn)) this.#drawColours();
  }

  // ── what if ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #drawWords() {
    const makeWord = (text, j) => {
      const made = element("button", { type: "button", class: "toggle", tabIndex: -1, onclick: () => this.#toggle(j) }, text);
      made.dataset.feature = j;
      made.setAttribute("aria-pressed", String(this.removed.has(j)));
      return made;
    };
    this.words.replaceChildren(...drawnWords(this.text.texts, makeWord));
    const first = this.words.querySelector("button");
    if (first) first.tabIndex = 0;
  }

  #moved(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    const all = [...this.words.querySelectorAll("button")], at = all.indexOf(document.activeElement);
    if (!step || at < 0) return;
    const next = all[Math.max(0, Math.min(all.length - 1, at + step))];
    all[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    event.preventDefault();
  }

  #toggle(j) {
    if (!this.removed.delete(j)) this.removed.add(j);
    this.settings.removed = [...this.removed].sort((one, other) => one - other);
    for (const word of this.root.querySelectorAll("[data-feature]")) {
      const gone = this.removed.has(Number(word.dataset.feature));
      if (word.tagName === "BUTTON") word.setAttribute("aria-pressed", String(gone));
      else word.classList.toggle("gone", gone);
    }
    this.changed("removed");
    this.#remove();
  }

  async #remove() {
    const valid = [...this.removed].filter((j) => this.text && j < this.text.names.length);
    if (!valid.length) {
      this.after = null;
      this.whatIf.hidden = true;
      if (this.prediction) this.said.replaceChildren(drawnPrediction(this.prediction));
      return;
    }
    try {
      const answer = await post("/remove", this.#question({ removed: valid }));
      if (valid.length !== this.removed.size) return;
      this.after = answer;
      this.#drawWhatIf();
    } catch (error) {
      this.#trouble(error);
    }
  }

  #drawWhatIf() {
    if (!this.after || !this.removed.size) return;
    const { before, after, outputs, output } = this.after;
    this.said.replaceChildren(drawnPrediction(before, after));
    const gone = [...this.removed].filter((j) => j < this.text.names.length);
    const about = this.rows.find((row) => row.drawn)?.drawn.about ?? before.label;
    const silent = this.rows.filter((row) => row.drawn && !row.explanation.signed).map((row) => row.label);
    const lines = this.rows.filter((row) => row.drawn && row.explanation.signed).map((row) => {
      const weights = gone.map((j) => row.explanation.weights[j] ?? 0), sum = -weights.reduce((a, b) => a + b, 0);
      const widths = gone.map((j) => row.drawn.half_width[j]);
      const most = widths.some((width) => width === null) ? null : widths.reduce((a, b) => a + b, 0);
      const said = `${signed(sum)}${most === null ? "" : ` ± ${most.toFixed(3)}`}`;
      return element("li", {}, element("strong", {}, row.label), ` ${said}`);
    });
    const change = outputs[1] - outputs[0];
    const flipped = before.label !== after.label;
    const told = [
      element("p", {}, `Without ${gone.map((j) => `“${this.text.names[j]}”`).join(", ")} the ${output} of ${about} moves by `, element("strong", {}, signed(change)), `, from ${signed(outputs[0])} to ${signed(outputs[1])}.`, flipped ? " The decision changes." : ""),
      element("p", {}, "What the methods said would happen, by the weights of these words:"),
      element("ul", { class: "said-before" }, ...lines),
      silent.length ? element("p", { class: "quiet" }, `${silent.join(", ")} give no direction.`) : null,
      element("button", { type: "button", onclick: () => this.#putBack() }, "Put all words back"),
    ];
    this.whatIf.replaceChildren(...told.filter((own) => own !== null));
    this.whatIf.hidden = false;
    announce(`Without these words the ${output} moves by ${signed(change)}.`);
  }

  #putBack() {
    for (const j of [...this.removed]) this.#toggle(j);
    this.words.querySelector("button[tabindex='0']")?.focus();
  }

  // ── the curve ────────────────────────────────────────────────────────────────────────────────────────────────────

  async #drawCurve() {
    if (!this.curveDetails.open || !this.text) return;
    const usable = this.rows.filter((row) => row.drawn && row.last);
    if (!usable.length || this.controller) {
      this.curveBody.replaceChildren(element("p", { class: "quiet" }, "It is drawn when all methods have answered."));
      return;
    }
    const orders = Object.fromEntries(usable.map((row) => [row.id, orderOf(row)]));
    const labels = Object.fromEntries(usable.map((row) => [row.id, row.label]));
    const asked = (this.curveAsked = {});
    try {
      const answer = await post("/curve", this.#question({ orders, seed: this.settings.seed }));
      if (this.curveAsked === asked) this.curveBody.replaceChildren(drawnCurve(answer, labels, `The ${usable[0].explanation.parameters.output ?? this.settings.output ?? this.model.outputs[0]} of ${usable[0].drawn.about}, as each method takes words out: those first that it says speak most for it.`, this.curveBody.clientWidth));
    } catch (error) {
      this.curveBody.replaceChildren(element("p", { class: "warning" }, error.message));
    }
  }

  // The object that `limelight explain --format json` prints, of what has answered.
  comparison() {
    const explanations = this.rows.filter((row) => row.drawn).map((row) => row.explanation);
    if (!explanations.length) return null;
    const [first] = explanations;
    return { schema: first.schema, text: first.text, prediction: first.prediction, explanations };
  }

  close() {
    clearTimeout(this.idle);
    this.#abortAll();
    this.root.remove();
  }
}
