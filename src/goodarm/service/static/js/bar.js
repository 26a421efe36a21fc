/** The strip of good, undecided and bad arms, and the headline in words; the same in the list and on the page. */
import { h, s } from "./dom.js";
import { about, count, counted, evidence, GLYPH, scaleOf } from "./format.js";

/** @typedef {import("./types.js").Summary} Summary */

/** Good from the left, bad from the right, hatched; undecided between. @param {Summary} of */
export function strip(of) {
  const all = Math.max(of.arms, 1);
  const share = (/** @type {number} */ n) => `${(100 * n) / all}%`;
  const rect = (/** @type {string} */ kind, /** @type {string} */ x, /** @type {number} */ n) =>
    n ? s("rect", { class: kind, x, width: share(n), height: "100%" }) : null;
  return s(
    "svg",
    { class: "strip", role: "img", "aria-label": figures(of) },
    rect("good", "0", of.good),
    rect("open", share(of.good), of.open),
    rect("bad", share(of.good + of.open), of.bad),
  );
}

/** @param {Summary} of */
export const figures = (of) =>
  `${count(of.good)} of ${count(of.arms)} good, ${count(of.bad)} bad, ${count(of.open)} undecided`;

/** "358 of 2,000 above 2%, 671 below, 971 undecided", in colours. @param {Summary} of @param {"h1" | "p"} tag */
export function headline(of, tag) {
  const [above, below] = [` ${scaleOf(of).above}, `, ` ${of.question.below}, `];
  const figure = (/** @type {"good" | "bad" | "open"} */ kind, /** @type {string} */ text) =>
    h("span", { class: `figure ${kind}` }, h("span", { class: "glyph", "aria-hidden": "true" }, GLYPH[kind]), text);
  return h(
    tag,
    { class: "headline" },
    figure("good", `${count(of.good)} of ${count(of.arms)}`),
    above,
    figure("bad", count(of.bad)),
    below,
    figure("open", count(of.open)),
    rest(of),
  );
}

/** " undecided", and where arms were withdrawn ", 3 retired". @param {Summary} of */
const rest = (of) => {
  const retired = of.arms - of.good - of.bad - of.open;
  return retired > 0 ? ` undecided, ${count(retired)} retired` : " undecided";
};

/**
 * What it took, what it will take, and what is promised. The sentence is the server's: figures; what is left; promise.
 * Only its numbers are written anew, in the reader's locale.
 * @param {Summary} of
 */
export function subline(of) {
  const [, ...clauses] = of.sentence.split("; ");
  const promise = clauses.pop() ?? "";
  const left = clauses.map((clause) =>
    clause.startsWith("about ") && of.remaining !== null && of.remaining !== undefined
      ? `about ${about(of.remaining)} more samples to finish`
      : clause,
  );
  const first = [`${counted(of.told, "sample")} so far`, ...left].join("; ");
  return promise ? `${first}. ${promise[0]?.toUpperCase()}${promise.slice(1)}.` : `${first}.`;
}

/** The bounds that the policy has learned so far; nothing for a policy that learns none. @param {Summary} of */
export function learned({ bounds }) {
  if (!bounds?.learned || bounds.beta === null) return [];
  const deciding = bounds.alpha === null ? "" : `, alpha = ${evidence(bounds.alpha)} for deciding`;
  const words = `Learned so far, in standard errors: beta = ${evidence(bounds.beta)} for sampling${deciding}.`;
  return [h("p", { class: "hint" }, words)];
}
