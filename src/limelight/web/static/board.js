// The one way by which answers reach the page, so that what is shown belongs to what stands beside it.
//
// `now(kind)` is the question of a kind that the page would ask at this moment, or null. Every answer says what was asked
// (`asked`); it is kept and drawn as long as that is what would be asked now, and no longer. Places are drawn by nobody
// else, and each says of itself whose numbers it holds: `data-asked`.

import { events, isAbort, post, Refused } from "./api.js";

const AGAIN = 1000;
// Milliseconds after which a server that was busy is asked again.

const equal = (one, other) => one === other || (typeof one === "object" && JSON.stringify(one) === JSON.stringify(other));
const holds = (asked, question) => Object.entries(question).every(([name, value]) => equal(asked?.[name], value));
const HIDDEN = new Set(["orders"]);
// Too long for an attribute, and made of what other parts of the identity stand for.
const written = (asked, question) => Object.fromEntries(Object.keys(question).filter((name) => !HIDDEN.has(name)).map((name) => [name, asked[name]]));
const sent = ({ server, ...question }) => question;
// The server knows which one it is.

export class Board {
  #now;
  #places = [];
  #answers = new Map();
  #asking = new Map();
  #closed = false;

  constructor(now) {
    this.#now = now;
  }

  // A part of the page. It is drawn from the answers of the kinds that it needs, with those that it may use beside them;
  // it is emptied as soon as one of these is missing. `troubles`: kinds whose errors it shows instead. `holds`: it keeps
  // its height while it waits. `more`: what else its looks depend on.
  place({ root, needs = [], may = [], troubles = [], draw, clear = () => root.replaceChildren(), more = () => [], holds = false }) {
    const place = { root, needs, may, troubles, draw, clear, more, holds, from: null };
    this.#places.push(place);
    this.#fill(place);
  }

  isCurrent(kind, asked) {
    const question = this.#closed ? null : this.#now(kind);
    return question !== null && holds(asked, question);
  }

  // The answer of a kind, if there is one that belongs here.
  answer(kind) {
    const own = this.#kept(kind);
    return own && !own.error ? own : null;
  }

  // The only way in. What does not belong here is dropped; what does is drawn.
  hear(answers) {
    for (const [kind, own] of Object.entries(answers)) {
      if (this.isCurrent(kind, own.asked)) this.#answers.set(kind, own);
    }
    this.refresh();
  }

  drop(kind) {
    this.#answers.delete(kind);
    this.refresh();
  }

  // To be called whenever anything has changed that questions are made of: what was asked before that is not shown after.
  refresh() {
    for (const [kind, own] of this.#asking) if (!this.isCurrent(kind, own.question)) this.#abort(kind);
    for (const [kind, own] of this.#answers) if (!this.isCurrent(kind, own.asked)) this.#answers.delete(kind);
    for (const place of this.#places) this.#fill(place);
  }

  isAsking(kind) {
    return this.#asking.has(kind);
  }

  // Ask what belongs here now. A question that is asked already is not asked twice, and a newer one takes its place.
  ask(kind, path, more, heard) {
    return this.#asked(kind, async (question, signal) => {
      const answer = await post(path, { ...sent(question), ...more }, signal);
      this.#let(kind, answer.asked, { ...question, ...more }, () => heard(answer));
    });
  }

  // The same for an answer that comes in many events.
  follow(kind, path, more, heard) {
    return this.#asked(kind, async (question, signal) => {
      for await (const [event, data] of events(path, { ...sent(question), ...more }, signal)) {
        if (!this.isCurrent(kind, question)) return;
        if (event === "error") throw new Refused(data.status, data.message);
        const full = { ...question, ...more };
        // The first event is the number of the job alone, as it is sent to stop it: it answers nothing yet.
        const own = event === "job" ? { ...data, asked: full } : data;
        this.#let(kind, own.asked, full, () => heard(event, own));
      }
    });
  }

  // Nothing more will come: what waits for it need not keep its height.
  release() {
    for (const place of this.#places) place.root.style.removeProperty("min-height");
  }

  close() {
    this.#closed = true;
    this.refresh();
  }

  // ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #kept(kind) {
    const own = this.#answers.get(kind);
    return own && this.isCurrent(kind, own.asked) ? own : null;
  }

  // An answer to another question than was asked is nobody's, whatever it says.
  #let(kind, asked, question, heard) {
    if (!holds(asked, question)) throw new Refused(0, "the server has answered another question than was asked: load the page anew");
    if (this.isCurrent(kind, asked)) heard();
  }

  #abort(kind) {
    this.#asking.get(kind)?.controller.abort();
    this.#asking.delete(kind);
  }

  async #asked(kind, work) {
    const question = this.#closed ? null : this.#now(kind);
    const before = this.#asking.get(kind);
    if (before && question !== null && holds(before.question, question)) return;
    this.#abort(kind);
    if (question === null) return;
    const own = { question, controller: new AbortController() };
    this.#asking.set(kind, own);
    const isOurs = () => this.#asking.get(kind) === own && this.isCurrent(kind, question);
    try {
      for (;;) {
        try {
          await work(question, own.controller.signal);
          return;
        } catch (error) {
          if (error.status !== 429 || !isOurs()) throw error;
          await new Promise((resolve) => setTimeout(resolve, AGAIN));
          if (!isOurs()) return;
        }
      }
    } catch (error) {
      if (isAbort(error) || !isOurs()) return;
      if (!(error instanceof Refused)) throw error;
      this.hear({ [kind]: { asked: question, error } });
    } finally {
      if (this.#asking.get(kind) === own) this.#asking.delete(kind);
    }
  }

  #fill(place) {
    const { root, needs, may, troubles } = place;
    const own = Object.fromEntries([...needs, ...may].map((kind) => [kind, this.answer(kind)]));
    for (const kind of troubles) own[kind] = this.#kept(kind)?.error ? this.#kept(kind) : null;
    const used = Object.entries(own).filter(([, answer]) => answer !== null);
    const isWhole = used.length > 0 && needs.every((kind) => own[kind] !== null);
    const from = isWhole ? [...Object.values(own), ...place.more()] : [];
    if (place.from && from.length === place.from.length && from.every((one, i) => one === place.from[i])) return;
    if (!isWhole && place.from?.length && place.holds) root.style.setProperty("min-height", `${root.offsetHeight}px`);
    place.from = from;
    if (isWhole) {
      root.dataset.asked = JSON.stringify(used.map(([kind, answer]) => [kind, written(answer.asked, this.#now(kind))]));
      place.draw(own);
      root.style.removeProperty("min-height");
    } else {
      delete root.dataset.asked;
      place.clear();
    }
  }
}
