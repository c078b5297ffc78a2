// The corpus: its texts with filters, its words with intervals; a click opens a text.

import { get, post } from "./api.js";
import { announce, chooser, element, labelled } from "./dom.js";

const PAGE = 50;
const number = (value, digits = 3) => (value === null ? "" : value.toFixed(digits).replace("-", "−"));
const percent = (value) => (value === null ? "" : `${(100 * value).toFixed(1)} %`);

const table = (heads, lines, name) => {
  const region = element(
    "div",
    { class: "scroll", tabIndex: 0 },
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, ...lines)
    )
  );
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", name);
  return region;
};

// Buttons to the neighbouring pages of a long table.
const pages = (total, offset, go) => {
  const last = Math.min(offset + PAGE, total);
  const button = (name, to, off) => element("button", { type: "button", disabled: off, onclick: () => go(to) }, name);
  return element(
    "p",
    { class: "pages" },
    button("Previous", Math.max(0, offset - PAGE), offset === 0),
    ` ${total ? offset + 1 : 0} to ${last} of ${total.toLocaleString("en")} `,
    button("Next", offset + PAGE, last >= total)
  );
};

export class CorpusView {
  constructor(open) {
    this.open = open;
    this.texts = { wrong: null, label: null, truth: null, disagreement: null, contains: null, order: "row", offset: 0, limit: PAGE };
    this.words = { method: null, target: null, order: "effect", contains: null, all_words: false, offset: 0, limit: PAGE };
    this.trouble = element("p", { class: "warning", role: "alert", hidden: true });
    this.about = element("p", { class: "quiet" }, "Reading the corpus …");
    this.textFilters = element("div", { class: "filters" });
    this.wordFilters = element("div", { class: "filters" });
    this.textTable = element("div", { class: "corpus-texts" });
    this.wordTable = element("div", { class: "corpus-words" });
    this.root = element(
      "section",
      { class: "corpus" },
      element("h2", {}, "Corpus"),
      this.about,
      this.trouble,
      element("h2", {}, "Texts"),
      this.textFilters,
      this.textTable,
      element("h2", {}, "Words"),
      this.wordFilters,
      this.wordTable
    );
    this.#begin();
  }

  async #guarded(work) {
    try {
      await work();
      this.trouble.hidden = true;
    } catch (error) {
      this.trouble.hidden = false;
      this.trouble.textContent = error.message;
    }
  }

  #begin() {
    return this.#guarded(async () => {
      this.corpus = await get("/corpus");
      const { documents, complete, methods } = this.corpus;
      this.about.textContent = `${documents.toLocaleString("en")} texts, explained by ${methods.join(", ")}${complete ? "" : "; the run is not finished, and this is what it holds by now"}`;
      this.#drawFilters();
      await this.#drawTexts();
      await this.#drawWords();
    });
  }

  #drawFilters() {
    const labels = this.corpus.labels.map((label) => [label.name, label.shown]);
    const set = (own, name, read, draw) => (value) => {
      own[name] = read(value);
      own.offset = 0;
      this.#guarded(() => draw());
    };
    const orNull = (value) => (value === "" ? null : value);
    const typed = (own, draw) => {
      const made = element("input", { type: "search", maxLength: 100 });
      made.addEventListener("change", () => set(own, "contains", (value) => orNull(value.trim()), draw)(made.value));
      return made;
    };
    const drawTexts = () => this.#drawTexts(), drawWords = () => this.#drawWords();
    const yes = { "": null, right: false, wrong: true };
    this.textFilters.replaceChildren(
      labelled("The model is", chooser([["", "right or wrong"], ["right", "right"], ["wrong", "wrong"]], "", set(this.texts, "wrong", (value) => yes[value], drawTexts))),
      labelled("It says", chooser([["", "anything"], ...labels], "", set(this.texts, "label", orNull, drawTexts))),
      labelled("Methods disagree by at least", chooser([["", "anything"], ["0.1", "0.1"], ["0.25", "0.25"], ["0.5", "0.5"]], "", set(this.texts, "disagreement", (value) => (value === "" ? null : Number(value)), drawTexts))),
      labelled("Contains the word", typed(this.texts, drawTexts)),
      labelled("Order", chooser([["row", "as in the data"], ["disagreement", "most disagreement"], ["confidence", "surest first"]], "row", set(this.texts, "order", (value) => value, drawTexts)))
    );
    const questions = this.corpus.questions.map((own, i) => [String(i), `${own.method} for ${own.target}${own.against ? ` rather than ${own.against}` : ""}`]);
    this.wordFilters.replaceChildren(
      labelled("Weights by", chooser(questions, "0", (i) => {
        const { method, target, against } = this.corpus.questions[Number(i)];
        Object.assign(this.words, { method, target, against, offset: 0 });
        this.#guarded(drawWords);
      })),
      labelled("Order", chooser([["effect", "largest effect"], ["for", "most for"], ["against", "most against"], ["texts", "most texts"], ["signs", "changes its sign"], ["word", "by name"]], "effect", set(this.words, "order", (value) => value, drawWords))),
      labelled("Contains", typed(this.words, drawWords)),
      labelled("Stop words", chooser([["", "left out"], ["all", "shown"]], "", set(this.words, "all_words", (value) => value === "all", drawWords)))
    );
  }

  async #drawTexts() {
    const answer = await post("/corpus/texts", this.texts);
    const lines = answer.lines.map((line) =>
      element(
        "tr",
        {},
        element("th", { scope: "row", class: "text-cell" }, element("button", { type: "button", class: "opens", onclick: () => this.#guarded(() => this.#openText(line.row)) }, element("bdi", {}, line.beginning || line.id))),
        element("td", {}, line.id),
        element("td", {}, line.error ? "not explained" : line.label ?? ""),
        element("td", {}, line.truth ?? ""),
        element("td", {}, line.wrong === null ? "" : line.wrong ? "wrong" : "right"),
        element("td", {}, percent(line.confidence)),
        element("td", {}, line.disagreement === null ? "" : `${number(line.disagreement, 2)} (at least ${number(line.at_least, 2)})`)
      )
    );
    this.textTable.replaceChildren(
      table(["text", "id", "model says", "truth", "", "sure", "methods disagree"], lines, "Texts of the corpus"),
      pages(answer.total, answer.offset, (offset) => { this.texts.offset = offset; this.#guarded(() => this.#drawTexts()); })
    );
    announce(`${answer.total} texts.`);
  }

  async #drawWords() {
    const answer = await post("/corpus/words", this.words);
    const lines = answer.lines.map((line) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, element("bdi", {}, line.shown)),
        element("td", { class: line.told ? "" : "faint" }, `${line.mean > 0 ? "+" : ""}${number(line.mean)}`),
        element("td", { class: line.told ? "" : "faint" }, line.low === null ? "" : `${number(line.low)} to ${number(line.high)}`),
        element("td", {}, String(line.texts)),
        element("td", {}, `${line.speaks_for} / ${line.speaks_against}`),
        element("td", {}, element("button", { type: "button", class: "opens", onclick: () => this.#guarded(() => this.#openText(line.largest_row)) }, "most for"), " · ", element("button", { type: "button", class: "opens", onclick: () => this.#guarded(() => this.#openText(line.smallest_row)) }, "most against"))
      )
    );
    if (!answer.total) {
      this.wordTable.replaceChildren(element("p", { class: "quiet" }, `No word of those asked for stands in five texts or more; ${answer.rare.toLocaleString("en")} stand in fewer.`));
      return;
    }
    this.wordTable.replaceChildren(
      table(["word", "mean effect", "interval", "texts", "texts for / against", "examples"], lines, "Words of the corpus"),
      pages(answer.total, answer.offset, (offset) => { this.words.offset = offset; this.#guarded(() => this.#drawWords()); })
    );
  }

  async #openText(row) {
    const found = await post("/corpus/text", { row });
    if (found.text === null) throw new Error(Object.values(found.errors)[0] ?? "this text could not be explained");
    if (!found.kept) throw new Error("the corpus was run without its texts, so this one cannot be opened: run it with --keep-text");
    this.open(...(Array.isArray(found.text) ? found.text : [found.text]));
  }
}
