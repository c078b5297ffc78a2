// What is being looked at, and its permanent link: all of it is in the fragment, which never reaches a server.

export const DEFAULT = {
  a: { model: null, text: "A great film, but far too long. The ending was a terrible mess.", second: "", removed: [] },
  b: null,
  methods: null,
  target: null,
  against: null,
  features: "words",
  removal: "mask",
  output: null,
  seed: 0,
  samples: null,
  colour: null,
  view: "text",
};

export const copy = (state) => JSON.parse(JSON.stringify(state));

// A state that tells of each change, at once: nobody who changes it has to remember to.
export const watched = (state, told) =>
  new Proxy(state, {
    get: (own, name) => (typeof own[name] === "object" && own[name] !== null ? watched(own[name], told) : own[name]),
    set: (own, name, value) => {
      own[name] = value;
      told();
      return true;
    },
  });

const isText = (value) => typeof value === "string";
const isNameOrNull = (value) => value === null || isText(value);
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const areCounts = (value) => Array.isArray(value) && value.every(isCount);
const isPane = (value) =>
  typeof value === "object" && value !== null && isNameOrNull(value.model) && isText(value.text) && isText(value.second);
const paneOf = ({ model, text, second, removed }, shared) => ({ model, text, second, removed: areCounts(removed) ? removed : shared });

// Links come from strangers: what is not of the right type is left out.
const RIGHT = {
  a: isPane,
  b: (value) => value === null || isPane(value),
  methods: (value) => value === null || (Array.isArray(value) && value.length > 0 && value.every(isText)),
  target: isNameOrNull,
  against: isNameOrNull,
  features: isText,
  removal: isText,
  output: isNameOrNull,
  seed: isCount,
  samples: (value) => value === null || (isCount(value) && value > 0),
  colour: isNameOrNull,
  view: isText,
};

const written = (text) => {
  const bytes = new TextEncoder().encode(text);
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

const read = (letters) => {
  const plain = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(plain, (letter) => letter.charCodeAt(0)));
};

// All of it: what is left out would be what it is by default, and that may be something else elsewhere.
export const linkOf = (state) => `#v1=${written(JSON.stringify(state))}`;

// The state that a fragment holds; null where it holds none that can be read.
export const stateOf = (fragment) => {
  const given = /^#v1=([\w-]+)$/.exec(fragment);
  if (!given) return null;
  try {
    const stored = JSON.parse(read(given[1]));
    const state = copy(DEFAULT);
    for (const name of Object.keys(RIGHT)) {
      if (Object.hasOwn(stored, name) && RIGHT[name](stored[name])) state[name] = stored[name];
    }
    // Links of version 0.2 held the removed words once, for both texts.
    const shared = areCounts(stored.removed) ? stored.removed : [];
    state.a = paneOf(state.a, shared);
    if (state.b !== null) state.b = paneOf(state.b, shared);
    return state;
  } catch {
    return null;
  }
};
