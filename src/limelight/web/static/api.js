// The interface /api/v1: JSON, and server-sent events. Texts travel in bodies, never in addresses.

const ROOT = "/api/v1";
const TOKEN = "limelight-token";
const CLIENT = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");

let server = null, elsewhere = () => {};

// Which run of the server answers, and who is told when it is another one: its models may be others under the same names.
export const ofServer = () => server;
export const onAnotherServer = (told) => { elsewhere = told; };

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// The token is in the fragment once, and in no address after that.
export const takeToken = () => {
  const given = /^#token=([^&]+)&?(.*)$/.exec(location.hash);
  if (!given) return;
  sessionStorage.setItem(TOKEN, decodeURIComponent(given[1]));
  history.replaceState(null, "", given[2] ? `#${given[2]}` : location.pathname);
};

const headers = () => {
  const token = sessionStorage.getItem(TOKEN);
  return {
    "Content-Type": "application/json",
    "Limelight-Client": CLIENT,
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
  };
};

const refused = async (response) => {
  try {
    const { error } = await response.json();
    return new Refused(response.status, error.message);
  } catch {
    return new Refused(response.status, `the server answered with status ${response.status}`);
  }
};

const asked = async (path, options) => {
  let response;
  try {
    response = await fetch(`${ROOT}${path}`, { ...options, headers: headers(), cache: "no-store", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "the server does not answer: is it still running?");
  }
  const by = response.headers.get("Limelight-Server");
  if (server !== null && by !== server) {
    server = by;
    elsewhere();
    throw new DOMException("another server", "AbortError");
  }
  server = by;
  if (!response.ok) throw await refused(response);
  return response;
};

// What was asked, as the server says it, and which server it was.
const signed = (answer, by) => ({ ...answer, asked: { ...answer.asked, server: by } });

export const get = async (path) => (await asked(path, {})).json();

export const post = async (path, body, signal) => {
  const response = await asked(path, { method: "POST", body: JSON.stringify(body), signal });
  return signed(await response.json(), response.headers.get("Limelight-Server"));
};

export const file = async (path, body) => (await asked(path, { method: "POST", body: JSON.stringify(body) })).blob();

export const isAbort = (error) => error.name === "AbortError";

// Each event as it comes: [name, data].
export async function* events(path, body, signal) {
  const response = await asked(path, { method: "POST", body: JSON.stringify(body), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      throw isAbort(error) ? error : new Refused(0, "the server does not answer any more: is it still running?");
    });
    if (done) return;
    rest += value;
    const whole = rest.split("\n\n");
    rest = whole.pop();
    for (const one of whole) {
      const [name, data] = one.split("\n").map((line) => line.slice(line.indexOf(": ") + 2));
      yield [name, signed(JSON.parse(data), response.headers.get("Limelight-Server"))];
    }
  }
}
