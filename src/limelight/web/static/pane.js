// One model looking at one text: typing, prediction, rows, numbers, what if, the removal curve, and how to share it.
//
// A pane asks and says where answers are drawn; that they belong to it is the board's affair.

import { post } from "./api.js";
import { Board } from "./board.js";
import { drawnCurve, orderOf } from "./curve.js";
import { chooser, element, labelled } from "./dom.js";
import { Editor } from "./editor.js";
import { drawnPrediction } from "./prediction.js";
import { Questions } from "./questions.js";
import { drawnRow, drawnWords } from "./rows.js";
import { sharing } from "./share.js";
import { Numbers } from "./table.js";
import { drawnWhatIf, signed } from "./what_if.js";

const IDLE = 450;
// Milliseconds without a keystroke after which all methods are asked.
const ORDER = ["prediction", "live", "run", "rows", "removed"];
// Of kinds of answers whose errors are told above the prediction.

export class Pane {
  // `own`: {model, text, second, removed}. `site`: models and methods. `settings`: what all panes share. `changed` is told.
  constructor(site, own, settings, changed, name, address) {
    Object.assign(this, { site, own, settings, changed, name, address });
    this.questions = new Questions(site, own, settings);
    this.board = new Board((kind) => this.#question(kind));
    this.names = new Map();
    this.idle = null;
    this.numbers = new Numbers();
    this.#build();
    this.#placeAll();
    this.editor.text = own.text;
    this.second.text = own.second;
    // What is shown is what is asked: a text area has line ends of its own.
    if (own.text !== this.editor.text) own.text = this.editor.text;
    if (own.second !== this.second.text) own.second = this.second.text;
    this.again();
  }

  get model() {
    return this.questions.model;
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
    this.notes = element("div", {});
    this.notices = element("div", {});
    this.said = element("div", { class: "said-of" });
    this.status = element("p", { class: "unseen", role: "status" });
    this.colours = element("div", { class: "field inline" });
    this.legend = element("p", { class: "legend" });
    this.stopButton = element("button", { type: "button", class: "stop", hidden: true, onclick: () => this.stop() }, "Stop");
    this.bar = element("progress", { max: 1, hidden: true, "aria-label": "Progress" });
    this.work = element("span", { class: "quiet work" });
    this.running = element("div", { class: "running" }, this.work, this.bar, this.stopButton);
    this.words = element("div", { class: "toggles", role: "group", "aria-label": "Words of the text: press one to take it out", onkeydown: (event) => this.#moved(event) });
    this.whatIf = element("div", { class: "what-if", hidden: true });
    this.rowsElement = element("div", { class: "rows" });
    this.rowsElement.addEventListener("click", (event) => {
      const word = event.target.closest("[data-feature]");
      if (word) this.#toggle(Number(word.dataset.feature));
    });
    this.curveBody = element("div", {});
    this.curveTrouble = element("p", { class: "warning", hidden: true });
    this.curveDetails = element("details", { class: "curves", ontoggle: () => this.#askCurve() }, element("summary", {}, "Removal curve"), this.curveTrouble, this.curveBody);
    this.numbersDetails = element("details", { class: "weights" }, element("summary", {}, "All weights"), this.numbers.root);
    this.share = sharing(this);
    this.root = element(
      "section",
      { class: "pane", "aria-label": this.name },
      this.modelChooser,
      this.editor.root,
      this.second.root,
      this.trouble,
      this.notes,
      this.notices,
      element("h2", {}, "What the model says"),
      this.said,
      this.status,
      element("h2", {}, "What if a word were gone?"),
      this.words,
      this.whatIf,
      element("div", { class: "heading" }, element("h2", {}, "What each method says"), this.running),
      this.colours,
      this.legend,
      this.rowsElement,
      this.numbersDetails,
      this.curveDetails,
      this.share.root
    );
  }

  #placeAll() {
    const { board } = this;
    const hide = (root) => () => {
      root.hidden = true;
      root.replaceChildren();
    };
    const tell = (root) => (own) => {
      root.hidden = false;
      root.textContent = (ORDER.map((kind) => own[kind]).find(Boolean) ?? own.curve).error.message;
    };
    board.place({ root: this.trouble, troubles: ORDER, draw: tell(this.trouble), clear: hide(this.trouble) });
    board.place({ root: this.curveTrouble, troubles: ["curve"], draw: tell(this.curveTrouble), clear: hide(this.curveTrouble) });
    board.place({ root: this.said, needs: ["prediction"], may: ["removed"], holds: true, draw: ({ prediction, removed }) => this.said.replaceChildren(removed ? drawnPrediction(removed.before, removed.after) : drawnPrediction(prediction)) });
    board.place({ root: this.notices, needs: ["text"], draw: ({ text }) => this.notices.replaceChildren(...text.notices.map((notice) => element("p", { class: "notice" }, notice))) });
    board.place({ root: this.words, needs: ["text"], holds: true, draw: ({ text }) => this.#drawWords(text) });
    board.place({ root: this.whatIf, needs: ["removed", "text"], may: ["rows"], clear: hide(this.whatIf), draw: (own) => this.#drawWhatIf(own) });
    board.place({ root: this.status, may: ["rows", "removed"], draw: (own) => this.#say(own) });
    board.place({ root: this.running, needs: ["run"], draw: ({ run }) => this.#drawRun(run), clear: () => this.#drawRest() });
    board.place({ root: this.colours, needs: ["rows"], draw: ({ rows }) => this.#drawChooser(rows.rows), more: () => [this.settings.colour] });
    for (const side of [this.editor, this.second]) {
      board.place({ root: side.back, may: ["rows", "live"], draw: (own) => this.#colour(side, own), clear: () => side.plain(), more: () => [this.settings.colour] });
    }
    board.place({ root: this.legend, may: ["rows", "live"], holds: true, draw: (own) => this.#drawLegend(own), more: () => [this.settings.colour] });
    board.place({ root: this.rowsElement, needs: ["rows", "text"], holds: true, draw: ({ rows, text }) => this.#drawRows(rows.rows, text) });
    board.place({ root: this.numbers.root, needs: ["rows", "text"], draw: ({ rows, text }) => this.numbers.show(text.names, rows.rows), clear: () => this.numbers.clear() });
    board.place({ root: this.share.recipes, needs: ["rows"], draw: ({ rows }) => this.share.show(rows.recipe), clear: () => this.share.clear() });
    const wait = () => this.curveBody.replaceChildren(element("p", { class: "quiet" }, "It is drawn when all methods have answered."));
    board.place({ root: this.curveBody, needs: ["rows", "curve"], holds: true, draw: ({ rows, curve }) => this.#drawCurve(rows.rows, curve), clear: wait });
  }

  // ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────

  // What the page would ask now; null where it would not ask.
  #question(kind) {
    const { questions, board } = this;
    if (kind === "removed") return board.answer("text") ? questions.removed(board.answer("text").names) : null;
    if (kind === "curve") return this.#isDone() && this.#answered().length ? questions.curve(Object.fromEntries(this.#answered().map((row) => [row.id, orderOf(row)]))) : null;
    return kind === "run" ? questions.rows() : questions[kind]();
  }

  #isDone() {
    return this.board.answer("rows")?.done ?? false;
  }

  #answered() {
    return this.board.answer("rows").rows.filter((row) => row.drawn && row.last);
  }

  #typed() {
    performance.mark("limelight-key");
    this.forget();
    this.own.text = this.editor.text;
    this.own.second = this.second.text;
    this.changed("text");
    this.#askLive();
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.#askAll(), IDLE);
    this.#busy();
  }

  // Settings or the model have changed, or the page is new.
  again() {
    this.second.root.hidden = !this.model.pairs;
    this.notes.replaceChildren(...this.questions.notes.map((note) => element("p", { class: "notice" }, note)));
    this.#askLive();
    this.#askAll();
    this.#askRemoved();
  }

  // In the page a text area has its height.
  fit() {
    this.editor.fit();
    this.second.fit();
  }

  // What was removed is put back, as other features have other numbers.
  forget() {
    this.names.clear();
    this.own.removed = [];
    this.#marked();
  }

  #askLive() {
    const { board } = this;
    if (this.questions.live() === null) {
      if (!board.answer("prediction")) board.ask("prediction", "/predict", {}, (answer) => board.hear({ prediction: answer }));
    } else if (!board.answer("live")) {
      board.ask("live", "/explain", {}, (answer) => {
        const { asked, prediction, text } = answer;
        this.#heardText({ live: answer, prediction: { asked, ...prediction }, text: { asked, ...text } });
        performance.mark("limelight-coloured");
      });
    }
  }

  async #askAll() {
    clearTimeout(this.idle);
    this.idle = null;
    if (!this.#isDone()) {
      const asking = this.board.follow("run", "/compare", { settle: true }, (event, data) => this.#heard(event, data));
      this.#busy();
      await asking;
    }
    this.#busy();
    this.#askCurve();
  }

  // For readers of screens, and for those who wait until all is there.
  #busy() {
    const isBusy = this.board.isAsking("run") || this.idle !== null;
    this.rowsElement.setAttribute("aria-busy", String(isBusy));
    if (!isBusy) this.board.release();
  }

  #heard(event, data) {
    const { board } = this, { asked } = data;
    const change = (i, more) => {
      const own = board.answer("rows"), changed = (row, k) => (i === null || k === i ? { ...row, ...more(row) } : row);
      if (own) board.hear({ rows: { ...own, rows: own.rows.map(changed) } });
    };
    if (event === "job") board.hear({ run: { asked, job: data.job, says: "asking" } });
    if (event === "begun") {
      const rows = data.methods.map((method) => ({ ...method, drawn: null }));
      this.#heardText({ prediction: { asked, ...data.prediction }, text: { asked, ...data.text }, rows: { asked, rows, recipe: data.recipe, done: false } });
    }
    if (event === "progress") board.hear({ run: { ...board.answer("run"), asked, ...data } });
    if (event === "row") change(data.row, () => ({ explanation: data.explanation, drawn: data.drawn, last: data.last }));
    if (event === "failed") change(data.row, () => ({ failed: data.message }));
    if (event === "stopped") change(null, (row) => ({ stopped: !row.last }));
    const own = board.answer("rows");
    if (own && (event === "done" || event === "stopped")) board.hear({ rows: { ...own, done: event } });
    if (event === "end" || event === "stopped") board.drop("run");
  }

  // Answers that say of which words a text is made: now it is known which of them a removed number stands for.
  #heardText(answers) {
    const isNew = !this.board.answer("text");
    // What is there already is not drawn again: a hand may be on it.
    const isThere = (kind) => JSON.stringify({ ...this.board.answer(kind), asked: null }) === JSON.stringify({ ...answers[kind], asked: null });
    this.board.hear(Object.fromEntries(Object.entries(answers).filter(([kind]) => kind !== "text" || !isThere(kind))));
    const text = this.board.answer("text");
    if (!isNew || !text) return;
    const same = (j) => j < text.names.length && (!this.names.has(j) || this.names.get(j) === text.names[j]);
    if (!this.own.removed.every(same)) {
      this.own.removed = this.own.removed.filter(same);
      this.changed("removed");
    }
    this.#marked();
    this.#askRemoved();
  }

  #askRemoved() {
    if (this.board.answer("removed")) return;
    this.board.ask("removed", "/remove", {}, (answer) => this.board.hear({ removed: answer }));
  }

  #askCurve() {
    if (!this.curveDetails.open || this.board.answer("curve")) return;
    this.board.ask("curve", "/curve", {}, (answer) => this.board.hear({ curve: answer }));
  }

  async stop() {
    const job = this.board.answer("run")?.job;
    if (!job) return;
    try {
      await post("/cancel", { job });
    } catch {
      // It was over already.
    }
  }

  // ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #drawRest() {
    this.work.textContent = "";
    this.stopButton.hidden = this.bar.hidden = true;
  }

  #drawRun({ row, task, steps, done, says }) {
    this.work.textContent = task === undefined ? says : `${this.board.answer("rows")?.rows[row]?.label ?? ""}: ${task}`;
    if (steps) this.bar.value = Math.min(done / steps, 1);
    else this.bar.removeAttribute("value");
    this.stopButton.hidden = this.bar.hidden = false;
  }

  #drawRows(rows, text) {
    const kept = new Map([...this.rowsElement.children].map((made) => [made.row, made]));
    const removed = new Set(this.own.removed), before = [...this.rowsElement.children];
    const drawn = rows.map((row) => kept.get(row) ?? Object.assign(drawnRow(row, text.texts, removed), { row }));
    if (before.length !== drawn.length) this.rowsElement.replaceChildren(...drawn);
    else drawn.forEach((made, i) => before[i] === made || before[i].replaceWith(made));
  }

  // The row that colours are chosen by; before there is one, the quick answer.
  #colouring({ rows, live }) {
    const usable = rows?.rows.filter((row) => row.drawn) ?? [], { colour } = this.settings;
    const quick = live ? { id: live.asked.methods[0], explanation: live.comparison.explanations[0], drawn: live.rows[0] } : null;
    return usable.find((row) => row.id === colour) ?? (quick?.id === colour ? quick : null) ?? usable.find((row) => row.id === this.model.live) ?? quick ?? usable.find((row) => row.explanation.signed) ?? usable[0] ?? null;
  }

  #colour(side, own) {
    const chosen = this.#colouring(own), isFirst = side === this.editor;
    if (!chosen || (!isFirst && !this.model.pairs)) return side.plain();
    const { explanation, drawn } = chosen;
    side.colour(isFirst ? this.own.text : this.own.second, explanation.spans.map((spans, j) => ((explanation.sides?.[j] ?? 0) === (isFirst ? 0 : 1) ? spans : [])), drawn.shades);
  }

  #drawLegend(own) {
    const chosen = this.#colouring(own);
    if (!chosen) return this.legend.replaceChildren();
    this.legend.replaceChildren(
      ...chosen.drawn.legend.map(({ hue, says }) => element("span", {}, element("span", { class: `swatch ${hue}16` }, "   "), " ", element("bdi", {}, says))),
      element("span", { class: "quiet" }, `colours by ${chosen.explanation.label}; a line below a word is its weight with its interval (of those of the coloured words 95 % hold the true weight); faint words are not distinguishable from zero`)
    );
  }

  #drawChooser(rows) {
    const usable = rows.filter((row) => row.drawn), chosen = this.#colouring({ rows: { rows } });
    if (!chosen || this.colours.contains(document.activeElement)) return;
    const made = chooser(usable.map((row) => [row.id, row.label]), chosen.id, (id) => {
      this.settings.colour = id;
      this.changed("colour");
    });
    this.colours.replaceChildren(...labelled("Colours of the text by", made).childNodes);
  }

  #say({ rows, removed }) {
    const told = [rows?.done === "done" ? `${rows.rows.length} methods have answered.` : rows?.done ? "Stopped." : ""];
    if (removed) told.push(`Without these words the ${removed.output} moves by ${signed(removed.outputs[1] - removed.outputs[0])}.`);
    this.status.textContent = told.join(" ");
  }

  // ── what if ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #drawWords(text) {
    const makeWord = (shown, j) => {
      const made = element("button", { type: "button", class: "toggle", tabIndex: -1, onclick: () => this.#toggle(j) }, shown);
      made.dataset.feature = j;
      made.setAttribute("aria-pressed", String(this.own.removed.includes(j)));
      return made;
    };
    this.words.replaceChildren(...drawnWords(text.texts, makeWord));
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
    const { names } = this.board.answer("text"), before = [...this.own.removed];
    this.names.set(j, names[j]);
    this.own.removed = (before.includes(j) ? before.filter((one) => one !== j) : [...before, j]).sort((one, other) => one - other);
    this.#marked();
    this.changed("removed");
    this.#askRemoved();
  }

  // Words that are taken out, as such.
  #marked() {
    for (const word of this.root.querySelectorAll("[data-feature]")) {
      const gone = this.own.removed.includes(Number(word.dataset.feature));
      if (word.tagName === "BUTTON") word.setAttribute("aria-pressed", String(gone));
      else word.classList.toggle("gone", gone);
    }
  }

  #drawWhatIf({ removed, text, rows }) {
    this.whatIf.replaceChildren(...drawnWhatIf(removed, text.names, rows?.rows ?? [], () => this.#putBack()));
    this.whatIf.hidden = false;
  }

  #putBack() {
    this.own.removed = [];
    this.#marked();
    this.changed("removed");
    this.words.querySelector("button[tabindex='0']")?.focus();
  }

  // ── the curve, and what is kept ──────────────────────────────────────────────────────────────────────────────────

  #drawCurve(rows, curve) {
    const usable = rows.filter((row) => curve.orders[row.id]), [first] = usable;
    const labels = Object.fromEntries(usable.map((row) => [row.id, row.label]));
    const output = first.explanation.parameters.output ?? curve.asked.output ?? this.model.outputs[0];
    const about = `The ${output} of ${first.drawn.about}, as each method takes words out: those first that it says speak most for it.`;
    this.curveBody.replaceChildren(drawnCurve(curve, labels, about, this.curveBody.clientWidth));
  }

  // The object that `limelight explain --format json` prints, of what has answered, and whose it is.
  comparison() {
    const rows = this.board.answer("rows");
    const explanations = rows?.rows.filter((row) => row.drawn).map((row) => row.explanation) ?? [];
    if (!explanations.length) return null;
    const [first] = explanations, model = this.site.models.find((own) => own.name === rows.asked.model);
    return {
      comparison: { schema: first.schema, text: first.text, prediction: first.prediction, explanations },
      about: { model: model.shown, seed: String(rows.asked.seed) },
    };
  }

  close() {
    clearTimeout(this.idle);
    this.board.close();
    this.root.remove();
  }
}
