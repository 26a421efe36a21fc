/** The audit of a verdict: the journal's data behind it, in groups and plain words. */
import { h } from "./dom.js";
import { count, counted, decimal, fullTime, metricWords, percent, upper } from "./format.js";

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
    weight: ["this arm's part of it", "The allowed error is divided among the arms. A smaller part needs more evidence."],
    criterion: ["kind of error", ""],
  },
  "The data at that moment": {
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
const FOLDED = "Technical details";
const ERRORS = /** @type {Record<string, string>} */ ({ fwer: "any wrong verdict", fdr: "share of wrong ones among the good" });

/** @param {string} key @param {unknown} value @param {Scale} scale @returns {string} */
function written(key, value, scale) {
  if (value === null || value === undefined) return "–";
  if (key === "at") return fullTime(typeof value === "number" ? new Date(value * 1000).toISOString() : String(value));
  if (key === "criterion") return ERRORS[String(value)] ?? String(value);
  if (typeof value === "number" && (key === "weight" || key === "delta")) return percent(value);
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

/** One group. @param {string} title @param {[string, unknown][]} facts @param {Scale} scale */
function group(title, facts, scale) {
  const rows = facts.map(([key, value]) => {
    const [word, meaning] = GROUPS[title]?.[key] ?? [key.replaceAll("_", " "), ""];
    return h("div", {}, h("dt", meaning ? { title: meaning } : {}, word), h("dd", {}, h("bdi", {}, written(key, value, scale))));
  });
  return rows.length ? h("section", {}, h("h3", {}, title), h("dl", { class: "audit" }, ...rows)) : null;
}

/** What no group names, folded away. @param {Record<string, unknown>} facts @param {Scale} scale */
function folded(facts, scale) {
  const named = new Set(Object.values(GROUPS).flatMap((each) => Object.keys(each)));
  const rest = Object.entries(facts).filter(([key]) => !named.has(key));
  const list = group("", rest, scale)?.querySelector("dl");
  return list ? h("details", {}, h("summary", {}, FOLDED), list) : null;
}

/** Rewards that came after the verdict. @param {unknown} told @param {import("./types.js").Row} arm */
function since(told, { pulls }) {
  const more = typeof told === "number" ? pulls - told : 0;
  const words = `${counted(more, "reward")} came after the verdict. The mean above includes ${more === 1 ? "it" : "them"}, the verdict does not.`;
  return more > 0 ? h("p", {}, words) : null;
}

/** @param {Record<string, unknown>} audit @param {Scale} scale @param {import("./types.js").Row} arm as it is now @returns {Node[]} */
export function auditOf(audit, scale, arm) {
  const { notes, ...facts } = audit;
  const sentence = (/** @type {unknown} */ note) => upper(String(note)).replace(/[^.]$/, "$&.");
  const words = (Array.isArray(notes) ? notes : []).map((note) => h("p", {}, h("bdi", {}, sentence(note))));
  const fact = (/** @type {string} */ key) => written(key, facts[key], scale);
  const how = `The evidence that it is ${fact("verdict")} reached ${fact("evidence")}; ${fact("needed")} was needed.`;
  const groups = Object.entries(GROUPS).map(([title, known]) =>
    group(title, Object.keys(known).flatMap((key) => (key in facts ? [[key, facts[key]]] : [])), scale),
  );
  const parts = [h("p", { class: "lead" }, how), ...words, since(facts.told, arm), h("div", { class: "audit-groups" }, ...groups), folded(facts, scale)];
  return parts.filter((part) => part !== null);
}
