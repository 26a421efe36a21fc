/** The strip of good, undecided and bad arms, and the headline in words, shared by the list and the page. */
import { h, s } from "./dom.js";
import { count, counted, dayOf, decimal, evidence, fullTime, GLYPH, percent, scaleOf, upper } from "./format.js";

/** @typedef {import("./types.js").Summary} Summary */

/** A text from the metadata; anything else is left out. @param {unknown} value */
const text = (value) => (typeof value === "string" ? value.trim() : "");

/** The campaign's title. @param {Summary} of */
export const titleOf = (of) => text(of.metadata?.title) || of.name;

/** The measured quantity, the bar, the allowed error, the start, and the creator. @param {Summary} of */
export function terms(of) {
  const scale = scaleOf(of);
  const measured = text(of.metadata?.measured) || "mean reward";
  const by = text(of.metadata?.by) || text(of.created_by);
  const parts = [
    `${upper(measured)} of ${counted(of.arms, "arm")}`,
    scale.compared ? `against ${scale.references.join(", ")}: ${scale.line}` : scale.line,
    ...(of.cases ? [`${counted(of.cases, "case")}${(of.repeats ?? 1) > 1 ? `, each ${count(of.repeats ?? 1)} times` : ""}`] : []),
    ...(of.units ? [`one reward per unit: ${of.units.per_unit} of its rows`] : []),
  ];
  const error = h("span", { class: "error" }, ` · ${percent(of.delta)} allowed error`); // on a phone the promise says it
  const since = h("time", { datetime: of.created_at, title: fullTime(of.created_at) }, `since ${dayOf(of.created_at)}`);
  const origin = h("span", { class: "origin" }, " · ", since, by && h("bdi", {}, ` by ${by}`));
  return h("p", { class: "terms" }, h("bdi", {}, parts.join(" · ")), error, origin);
}

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
export function figures(of) {
  const { good, bad } = scaleOf(of).kinds;
  return `${count(of.good)} of ${count(of.arms)} ${good}, ${count(of.bad)} ${bad}, ${count(of.open)} undecided`;
}

/** "358 of 2,000 above 2%, 671 below, 971 undecided", in colours. @param {Summary} of */
export function headline(of) {
  const [above, below] = [` ${scaleOf(of).above}, `, ` ${of.question.below}, `];
  const figure = (/** @type {"good" | "bad" | "open"} */ kind, /** @type {string} */ text) =>
    h("span", { class: `figure ${kind}` }, h("span", { class: "glyph", "aria-hidden": "true" }, GLYPH[kind]), text);
  return h(
    "p",
    { class: "headline" },
    figure("good", `${count(of.good)} of ${count(of.arms)}`),
    above,
    figure("bad", count(of.bad)),
    below,
    figure("open", count(of.open)),
    rest(of),
  );
}

/** " undecided", followed by ", 3 retired" if arms were retired. @param {Summary} of */
const rest = (of) => {
  const retired = of.arms - of.good - of.bad - of.open;
  return retired > 0 ? ` undecided, ${count(retired)} retired` : " undecided";
};

/** What it took, and how it ended or will end. The forecast is elsewhere (`outlook`). @param {Summary} of */
export function effort(of) {
  const spent = of.budget && !of.tally?.used_up ? [`${decimal(of.spent ?? 0)} of the budget of ${decimal(of.budget)} spent`] : [];
  const told = of.told ? `${counted(of.told, "sample")} so far` : "No samples yet";
  return `${[told, ...spent, ...(isForetold(of) ? [] : clauses(of).slice(1, -1))].join("; ")}.`;
}

/** Whether the middle of the server's sentence is a forecast. @param {Summary} of */
const isForetold = (of) => Boolean(of.finish && of.open && !of.ended && !of.stop_after);

/** The clauses of the server's sentence; a remark on "below" belongs to the guarantee. @param {Summary} of */
const clauses = (of) => of.sentence.split(/; (?!below is )/);

/** What it took, and what is promised, in the server's words. @param {Summary} of */
export function subline(of) {
  const promise = clauses(of).at(-1) ?? "";
  return h("p", { class: "subline" }, effort(of), h("span", { class: "promise" }, ` ${upper(promise)}.`));
}

/** The bounds that the policy has learned so far; empty for other policies. @param {{bounds?: import("./types.js").Bounds}} of */
export function learned({ bounds }) {
  if (!bounds?.learned || bounds.beta === null) return [];
  const deciding = bounds.alpha === null ? "" : `, alpha = ${evidence(bounds.alpha)} for deciding`;
  const words = `Learned so far, in standard errors: beta = ${evidence(bounds.beta)} for sampling${deciding}.`;
  return [h("p", { class: "hint" }, words)];
}
