// What is being looked at, and its permanent link: all of it is in the fragment, which never reaches a server.

export const DEFAULT = {
  a: { model: null, text: "A great film, but far too long. The ending was a terrible mess.", second: "" },
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
  removed: [],
  view: "text",
};

const isText = (value) => typeof value === "string";
const isNameOrNull = (value) => value === null || isText(value);
const isPane = (value) =>
  typeof value === "object" && value !== null && isNameOrNull(value.model) && isText(value.text) && isText(value.second);
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;

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
  removed: (value) => Array.isArray(value) && value.every(isCount),
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

export const linkOf = (state) => {
  const changed = Object.entries(state).filter(
    ([name, value]) => name === "a" || JSON.stringify(value) !== JSON.stringify(DEFAULT[name])
  );
  return `#v1=${written(JSON.stringify(Object.fromEntries(changed)))}`;
};

// The state that a fragment holds; null where it holds none that can be read.
export const stateOf = (fragment) => {
  const given = /^#v1=([\w-]+)$/.exec(fragment);
  if (!given) return null;
  try {
    const stored = JSON.parse(read(given[1]));
    const state = structuredClone(DEFAULT);
    for (const name of Object.keys(RIGHT)) {
      if (Object.hasOwn(stored, name) && RIGHT[name](stored[name])) state[name] = stored[name];
    }
    return state;
  } catch {
    return null;
  }
};
