/** Requests to the same server. Errors have the library's message. */

/** A refused or failed request. */
export class Problem extends Error {
  /** @param {number} status @param {string} title @param {string} detail */
  constructor(status, title, detail) {
    super(detail || title);
    this.status = status;
  }
}

/** Relative to the page: a proxy may serve it below a path. @param {string} name @param {string} [rest] */
export const url = (name, rest = "") => `api/v1/campaigns/${encodeURIComponent(name)}${rest}`;

/** Every question has its own words for verdicts; colours and filters know good, open and bad. @param {any} value */
const inColours = (value) =>
  value && typeof value === "object" && "sign" in value ? { ...value, verdict: ["bad", "open", "good"][value.sign + 1] } : value;

/** An answer, read. @param {string} text @returns {any} */
export const parsed = (text) => JSON.parse(text, (_, value) => inColours(value));

/** @param {Response} response @returns {Promise<Problem>} */
export async function problemOf(response) {
  const body = await response.json().catch(() => ({}));
  const refused = response.status === 401 && !response.url.endsWith("/login");
  if (refused) window.dispatchEvent(new Event("goodarm-login"));
  const detail = typeof body.detail === "string" ? body.detail : "";
  return new Problem(response.status, body.title ?? `the server answered ${response.status}`, detail);
}

/** @param {string} path @param {RequestInit} [options] @returns {Promise<any>} */
async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path.replace(/^\//, ""), { credentials: "same-origin", ...options });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(0, "no answer", "The server does not answer. Is it running?");
  }
  if (!response.ok) throw await problemOf(response);
  return response.status === 204 ? null : parsed(await response.text());
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export const get = (path, signal) => request(path, signal ? { signal } : {});

/** @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] @returns {Promise<any>} */
export const post = (path, body = {}, signal) =>
  request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
