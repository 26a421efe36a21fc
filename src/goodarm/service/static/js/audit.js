/** The audit of a verdict: everything that it rests on, as the journal has it, with plainer words where there are any. */
import { h } from "./dom.js";
import { count, decimal, fullTime } from "./format.js";

/** @typedef {import("./intervals.js").Scale} Scale */
/** @type {Record<string, string>} */
const NAMES = {
  at: "decided",
  number: "journal entry",
  first: "first ticket",
  last: "last ticket",
  needed: "evidence needed",
  total: "sum of rewards",
  weight: "share of delta",
  version: "goodarm",
};
const FIRST = [
  "verdict",
  "guarantee",
  "at",
  "number",
  "evidence",
  "needed",
  "mean",
  "low",
  "high",
  "asked",
  "told",
  "pending",
];
const REWARDS = new Set(["low", "high", "mean", "interval"]);

/** @param {string} key @param {unknown} value @param {Scale} scale @returns {string} */
function written(key, value, scale) {
  if (value === null || value === undefined) return "–";
  if (key === "at") return fullTime(typeof value === "number" ? new Date(value * 1000).toISOString() : String(value));
  if (typeof value === "number")
    return REWARDS.has(key) ? scale.value(value) : Number.isInteger(value) ? count(value) : decimal(value);
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map((each) => written(key, each, scale)).join(" to ");
  if (typeof value !== "object") return String(value);
  return (
    Object.entries(value)
      .map(([name, each]) => `${name} ${written(name, each, scale)}`)
      .join(", ") || "–"
  );
}

/** @param {Record<string, unknown>} audit @param {Scale} scale @returns {Node[]} */
export function auditOf(audit, scale) {
  const { notes, ...facts } = audit;
  const rank = (/** @type {string} */ key) => (FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length);
  const ordered = Object.entries(facts).sort(([a], [b]) => rank(a) - rank(b));
  const rows = ordered.map(([key, value]) =>
    h(
      "div",
      {},
      h("dt", {}, NAMES[key] ?? key.replaceAll("_", " ")),
      h("dd", {}, h("bdi", {}, written(key, value, scale))),
    ),
  );
  const words = (Array.isArray(notes) ? notes : []).map((note) => h("p", {}, h("bdi", {}, String(note))));
  const fact = (/** @type {string} */ key) => written(key, facts[key], scale);
  const how = `The evidence that it is ${fact("verdict")} reached ${fact("evidence")}; ${fact("needed")} was needed.`;
  return [h("p", { class: "lead" }, how), ...words, h("dl", { class: "audit" }, ...rows)];
}
