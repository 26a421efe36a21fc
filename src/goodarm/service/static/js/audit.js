/** The audit of a verdict: the journal's data behind it, in groups and plain words. */
import { h } from "./dom.js";
import { count, decimal, fullTime, metricWords } from "./format.js";

/** @typedef {import("./intervals.js").Scale} Scale */
/** Words and meanings of the entries, in the order in which they are shown. @type {Record<string, Record<string, [string, string]>>} */
const GROUPS = {
  "The decision": {
    verdict: ["verdict", ""],
    guarantee: ["guarantee", "Certified: proved if the data meet the conditions. Heuristic: without a proof."],
    at: ["decided", ""],
    evidence: ["evidence", "A logarithm; the arm was decided when it reached the evidence needed."],
    needed: ["evidence needed", "From the allowed error and this arm's share of it."],
    interval: ["interval", "The true value lies here, at the allowed error."],
    low: ["interval from", ""],
    high: ["interval to", ""],
    delta: ["allowed error", "The probability that any verdict of the campaign is wrong."],
    weight: ["share of the allowed error", ""],
    criterion: ["kind of error", "fwer: any wrong verdict. fdr: the expected share of wrong ones among the good."],
  },
  "The data": {
    mean: ["mean", ""],
    metrics: ["metrics", "Their means at the verdict, and the bars."],
    total: ["sum of rewards", ""],
    pulls: ["samples", ""],
    asked: ["asked for", "Samples asked for, excluding void ones."],
    told: ["told", "Samples whose reward was known."],
    pending: ["pending", "Samples whose reward was not known yet; they counted at their worst."],
    missing: ["counted as 0", "Their time passed without an answer."],
    void: ["void", "Withdrawn samples."],
    control: ["control", "The data of the control at that moment."],
    rewards: ["rewards", "What was declared about them."],
  },
  Provenance: {
    policy: ["policy", "The rules that choose the next arm and decide."],
    rule: ["deciding rule", ""],
    number: ["journal entry", "The entry that holds this verdict."],
    first: ["first ticket", ""],
    last: ["last ticket", ""],
    version: ["goodarm", "The version that decided."],
  },
};
const REWARDS = new Set(["low", "high", "mean", "interval"]);

/** @param {string} key @param {unknown} value @param {Scale} scale @returns {string} */
function written(key, value, scale) {
  if (value === null || value === undefined) return "–";
  if (key === "at") return fullTime(typeof value === "number" ? new Date(value * 1000).toISOString() : String(value));
  if (typeof value === "number")
    return REWARDS.has(key) ? scale.value(value) : Number.isInteger(value) ? count(value) : decimal(value);
  if (typeof value === "string") return value;
  if (key === "metrics" && Array.isArray(value)) return value.map((each) => `${metricWords(each)}${each.failed ? " fails" : ""}`).join("; ");
  if (Array.isArray(value)) return value.map((each) => written(key, each, scale)).join(" to ");
  if (typeof value !== "object") return String(value);
  return (
    Object.entries(value)
      .map(([name, each]) => `${name} ${written(name, each, scale)}`)
      .join(", ") || "–"
  );
}

/** One group; fields without a group belong to the last one. @param {string} title @param {Record<string, unknown>} facts @param {Scale} scale */
function group(title, facts, scale) {
  const known = GROUPS[title] ?? {};
  const named = new Set(Object.values(GROUPS).flatMap((each) => Object.keys(each)));
  const rest = title === "Provenance" ? Object.keys(facts).filter((key) => !named.has(key)) : [];
  const rows = [...Object.keys(known).filter((key) => key in facts), ...rest].map((key) => {
    const [word, meaning] = known[key] ?? [key.replaceAll("_", " "), ""];
    return h(
      "div",
      {},
      h("dt", meaning ? { title: meaning } : {}, word),
      h("dd", {}, h("bdi", {}, written(key, facts[key], scale))),
    );
  });
  return rows.length ? h("section", {}, h("h3", {}, title), h("dl", { class: "audit" }, ...rows)) : null;
}

/** @param {Record<string, unknown>} audit @param {Scale} scale @returns {Node[]} */
export function auditOf(audit, scale) {
  const { notes, ...facts } = audit;
  const sentence = (/** @type {unknown} */ note) => String(note).replace(/^./u, (first) => first.toUpperCase()).replace(/[^.]$/, "$&.");
  const words = (Array.isArray(notes) ? notes : []).map((note) => h("p", {}, h("bdi", {}, sentence(note))));
  const fact = (/** @type {string} */ key) => written(key, facts[key], scale);
  const how = `The evidence that it is ${fact("verdict")} reached ${fact("evidence")}; ${fact("needed")} was needed.`;
  const groups = Object.keys(GROUPS).map((title) => group(title, facts, scale));
  return [h("p", { class: "lead" }, how), ...words, h("div", { class: "audit-groups" }, ...groups)];
}
