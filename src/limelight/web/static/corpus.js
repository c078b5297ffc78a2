// The corpus: its texts with filters, its words with intervals; a click opens a text.

import { get, ofServer } from "./api.js";
import { Board } from "./board.js";
import { chooser, element, fixed, labelled, table } from "./dom.js";

const PAGE = 50;
const percent = (value) => (value === null ? "" : `${(100 * value).toFixed(1)} %`);

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
    this.opened = null;
    this.board = new Board((kind) => this.#question(kind));
    this.trouble = element("p", { class: "warning", role: "alert", hidden: true });
    this.status = element("p", { class: "unseen", role: "status" });
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
      this.status,
      element("h2", {}, "Texts"),
      this.textFilters,
      this.textTable,
      element("h2", {}, "Words"),
      this.wordFilters,
      this.wordTable
    );
    this.#placeAll();
    this.#begin();
  }

  // The questions of the two tables are their filters; a text that is opened is asked for by its row.
  #question(kind) {
    const server = ofServer();
    if (kind === "opened") return this.opened === null ? null : { server, row: this.opened };
    return { server, ...(kind === "texts" ? this.texts : this.words) };
  }

  #placeAll() {
    const { board } = this, kinds = ["texts", "words", "opened"];
    const tell = (own) => this.#tell(kinds.map((kind) => own[kind]).find(Boolean).error.message);
    board.place({ root: this.trouble, troubles: kinds, draw: tell, clear: () => { this.trouble.hidden = true; } });
    board.place({ root: this.status, needs: ["texts"], draw: ({ texts }) => { this.status.textContent = `${texts.total} texts.`; } });
    board.place({ root: this.textTable, needs: ["texts"], holds: true, draw: ({ texts }) => this.#drawTexts(texts) });
    board.place({ root: this.wordTable, needs: ["words"], holds: true, draw: ({ words }) => this.#drawWords(words) });
  }

  #tell(sentence) {
    this.trouble.hidden = false;
    this.trouble.textContent = sentence;
  }

  async #begin() {
    try {
      this.corpus = await get("/corpus");
    } catch (error) {
      this.#tell(error.message);
      return;
    }
    const { documents, complete, methods } = this.corpus;
    this.about.textContent = `${documents.toLocaleString("en")} texts, explained by ${methods.join(", ")}${complete ? "" : "; the run is not finished, and this is what it holds by now"}`;
    this.#drawFilters();
    this.#askTexts();
    this.#askWords();
  }

  #askTexts() {
    this.board.refresh();
    this.board.ask("texts", "/corpus/texts", {}, (answer) => this.board.hear({ texts: answer }));
  }

  #askWords() {
    this.board.refresh();
    this.board.ask("words", "/corpus/words", {}, (answer) => this.board.hear({ words: answer }));
  }

  close() {
    this.board.close();
  }

  #drawFilters() {
    const labels = this.corpus.labels.map((label) => [label.name, label.shown]);
    const set = (own, name, read, draw) => (value) => {
      own[name] = read(value);
      own.offset = 0;
      draw();
    };
    const orNull = (value) => (value === "" ? null : value);
    const typed = (own, draw) => {
      const made = element("input", { type: "search", maxLength: 100 });
      made.addEventListener("change", () => set(own, "contains", (value) => orNull(value.trim()), draw)(made.value));
      return made;
    };
    const drawTexts = () => this.#askTexts(), drawWords = () => this.#askWords();
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
        drawWords();
      })),
      labelled("Order", chooser([["effect", "largest effect"], ["for", "most for"], ["against", "most against"], ["texts", "most texts"], ["signs", "changes its sign"], ["word", "by name"]], "effect", set(this.words, "order", (value) => value, drawWords))),
      labelled("Contains", typed(this.words, drawWords)),
      labelled("Stop words", chooser([["", "left out"], ["all", "shown"]], "", set(this.words, "all_words", (value) => value === "all", drawWords)))
    );
  }

  #drawTexts(answer) {
    const lines = answer.lines.map((line) =>
      element(
        "tr",
        {},
        element("th", { scope: "row", class: "text-cell" }, element("button", { type: "button", class: "opens", onclick: () => this.#openText(line.row) }, element("bdi", {}, line.beginning || line.id))),
        element("td", {}, line.id),
        element("td", {}, line.error ? "not explained" : line.label ?? ""),
        element("td", {}, line.truth ?? ""),
        element("td", {}, line.wrong === null ? "" : line.wrong ? "wrong" : "right"),
        element("td", {}, percent(line.confidence)),
        element("td", {}, line.disagreement === null ? "" : `${fixed(line.disagreement, 2)} (at least ${fixed(line.at_least, 2)})`)
      )
    );
    this.textTable.replaceChildren(
      table("Texts of the corpus", ["text", "id", "model says", "truth", "", "sure", "methods disagree"], lines),
      pages(answer.total, answer.offset, (offset) => { this.texts.offset = offset; this.#askTexts(); })
    );
  }

  #drawWords(answer) {
    const lines = answer.lines.map((line) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, element("bdi", {}, line.shown)),
        element("td", { class: line.told ? "" : "faint" }, `${line.mean > 0 ? "+" : ""}${fixed(line.mean, 3)}`),
        element("td", { class: line.told ? "" : "faint" }, line.low === null ? "" : `${fixed(line.low, 3)} to ${fixed(line.high, 3)}`),
        element("td", {}, String(line.texts)),
        element("td", {}, `${line.speaks_for} / ${line.speaks_against}`),
        element("td", {}, element("button", { type: "button", class: "opens", onclick: () => this.#openText(line.largest_row) }, "most for"), " · ", element("button", { type: "button", class: "opens", onclick: () => this.#openText(line.smallest_row) }, "most against"))
      )
    );
    if (!answer.total) {
      this.wordTable.replaceChildren(element("p", { class: "quiet" }, `No word of those asked for stands in five texts or more; ${answer.rare.toLocaleString("en")} stand in fewer.`));
      return;
    }
    this.wordTable.replaceChildren(
      table("Words of the corpus", ["word", "mean effect", "interval", "texts", "texts for / against", "examples"], lines),
      pages(answer.total, answer.offset, (offset) => { this.words.offset = offset; this.#askWords(); })
    );
  }

  #openText(row) {
    this.opened = row;
    this.board.refresh();
    this.board.ask("opened", "/corpus/text", {}, ({ asked, text, kept, errors }) => {
      const refuse = (message) => this.board.hear({ opened: { asked, error: { message } } });
      if (text === null) refuse(Object.values(errors)[0] ?? "this text could not be explained");
      else if (!kept) refuse("the corpus was run without its texts, so this one cannot be opened: run it with --keep-text");
      else this.open(...(Array.isArray(text) ? text : [text]));
    });
  }
}
