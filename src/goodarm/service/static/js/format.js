/** Numbers and times in the reader's locale. */

/** @typedef {number | null | undefined} Maybe */
/** @typedef {(x: Maybe) => string} Writer */

const locale = navigator.languages?.[0] ?? "en";
const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const rounded = new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 });
const words = new Intl.NumberFormat(locale, {
  notation: "compact",
  compactDisplay: "long",
  maximumSignificantDigits: 2,
});
const tick = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 3 });
const real = new Intl.NumberFormat(locale, { maximumSignificantDigits: 4 });
const two = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
const signedTick = new Intl.NumberFormat(locale, { maximumSignificantDigits: 4, signDisplay: "exceptZero" });
const change = new Intl.NumberFormat(locale, {
  style: "percent",
  maximumSignificantDigits: 2,
  signDisplay: "exceptZero",
});
const clock = new Intl.DateTimeFormat(locale, { timeStyle: "short" });
const moment = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const near = new Intl.DateTimeFormat(locale, { weekday: "short", hour: "numeric", minute: "2-digit" });
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });

/** @param {number} value */
export const count = (value) => whole.format(value);
/** "46 million" in English, 46.000.000 elsewhere, since the page's words are English. @param {number} value */
export const about = (value) => (value >= 1e6 && locale.startsWith("en") ? words : rounded).format(value);
/** @param {number} value */
export const short = (value) => tick.format(value);
/** @param {Maybe} value */
export const decimal = (value) => (value === null || value === undefined ? "–" : real.format(value));
/** Evidence: a logarithm, shown with two decimals. @param {Maybe} value */
export const evidence = (value) =>
  value === null || value === undefined ? "–" : isCertain(value) ? "certain" : two.format(value);

/** Evidence of 1e9 means that no other verdict is possible. @param {number} value */
export const isCertain = (value) => value >= 5e8;
/** @param {number} value @param {number} [digits] */
export const percent = (value, digits = 2) =>
  new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: digits }).format(value);

/** Arms and tickets in the right number. @param {number} many @param {string} noun */
export const counted = (many, noun) => `${count(many)} ${noun}${many === 1 ? "" : "s"}`;

/**
 * Formats for this campaign's rewards: percent for shares, plain numbers otherwise.
 * @param {import("./types.js").Summary} summary
 */
export function scaleOf(summary) {
  const bounded = summary.question.shares;
  const { labels } = summary.question;
  const plain = fixedDigits(summary.rewards ?? "");
  const writers = bounded
    ? shares(summary.question.bar, labels.signed)
    : { value: plain, tick: decimal, bar: decimal, amount: decimal, own: plain };
  const measured = summary.metadata?.measured;
  const named = typeof measured === "string" ? measured.trim() : "";
  const between = (/** @type {Maybe} */ low, /** @type {Maybe} */ high) =>
    isExact({ low, high }) ? `exactly ${writers.value(low)}` : `${writers.value(low).replace(UNIT, "")} to ${writers.value(high)}`;
  const of = wordsOf(summary.question, writers);
  return { ...writers, ...of, bounded, between, axis: axisName(named, labels, of.references) };
}
/** What the chart's axis measures. @param {string} measured @param {import("./types.js").Question["labels"]} labels @param {string[]} references */
const axisName = (measured, labels, references) =>
  labels.signed && references.length ? `${upper(measured || "mean")}: ${lower(labels.measured)}` : labels.signed ? labels.measured : upper(measured || labels.measured);

/** @param {string} text */
export const upper = (text) => `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`;
/** @param {string} text */
const lower = (text) => `${text[0]?.toLowerCase() ?? ""}${text.slice(1)}`;

/** Whether the interval is one point, for example after every case of a test set was evaluated. @param {{low?: Maybe, high?: Maybe}} row */
export const isExact = ({ low, high }) => typeof low === "number" && typeof high === "number" && high - low < 1e-9;
const UNIT = /\s?(%|pp)$/; // written once for both ends

/** The reason why an arm with samples has no interval. */
export const NO_INTERVAL =
  "The evidence of this campaign depends on the order of the results. It decides whether an arm clears the bar, and " +
  "an interval cannot be computed from it.";

/** Shares as percentages; their differences in percentage points, with a sign. @param {number} threshold @param {boolean} signed */
function shares(threshold, signed) {
  const digits = Math.abs(threshold) < 0.1 ? 2 : 1;
  const own = withDigits(digits, { style: "percent" });
  const share = (/** @type {Maybe} */ x) => percent(x ?? NaN, 3);
  if (!signed) return { value: own, tick: share, bar: share, amount: share, own };
  const inPoints = (/** @type {Writer} */ write) => (/** @type {Maybe} */ x) =>
    x === null || x === undefined ? "–" : `${write(x * 100)} pp`;
  const value = inPoints(withDigits(Math.max(digits, 1), { signDisplay: "exceptZero" }));
  const tick = inPoints((x) => signedTick.format(x ?? NaN));
  return { value, tick, bar: inPoints(decimal), amount: inPoints(decimal), own };
}

/** @param {number} digits after the point @param {Intl.NumberFormatOptions} options @returns {Writer} */
function withDigits(digits, options) {
  const format = new Intl.NumberFormat(locale, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    ...options,
  });
  return (x) => (x === null || x === undefined ? "–" : format.format(x));
}

/** Shares with a number of digits that suits their bar. @param {number} bar */
export const shareWriter = (bar) => withDigits(Math.min(bar, 1 - bar) < 0.1 ? 2 : 1, { style: "percent" });

/** "correct 95% (at least 90%)". @param {import("./types.js").Metric} metric */
export const metricWords = ({ metric, mean, bar, at_least }) =>
  `${metric} ${shareWriter(bar)(mean)} (${at_least ? "at least" : "at most"} ${percent(bar, 3)})`;

/** A relative change: "+12%". @param {Maybe} x */
export const lift = (x) => (x === null || x === undefined || !Number.isFinite(x) ? "–" : change.format(x));

/**
 * The server's words for verdicts, estimates and the deciding line, with amounts in the reader's locale.
 * @param {import("./types.js").Question} question @param {{bar: Writer, amount: Writer}} writers
 */
function wordsOf({ kind, bar, template, below, references, names, labels }, writers) {
  const kinds = { good: labels.good, open: "undecided", bad: labels.bad };
  const above = template.replace(MARK, () => writers.amount(Math.abs(bar)));
  const isReference = (/** @type {{arm: string}} */ row) => references.includes(row.arm);
  const words = (/** @type {{arm: string, verdict: "good" | "bad" | "open", failed?: string}} */ row) =>
    isReference(row) ? kind : row.failed ? `${kinds[row.verdict]}: ${row.failed}` : kinds[row.verdict];
  return {
    kinds,
    labels,
    isReference,
    references: names,
    /** Whether the evidence on an arm also depends on the rewards of others. */
    compared: references.length > 0,
    above,
    below,
    line: labels.line.replace(MARK, () => writers.amount(Math.abs(bar))),
    word: words,
    /** "above the bar", where nothing else says what is compared. @param {{arm: string, verdict: "good" | "bad" | "open", failed?: string}} row */
    full: (row) => (row.verdict === "open" || isReference(row) || labels.signed ? words(row) : `${words(row)} ${labels.against}`),
    /** @param {{arm: string, verdict: "good" | "bad" | "open"}} row */
    glyph: (row) => (isReference(row) ? "◆" : GLYPH[row.verdict]),
  };
}

const MARK = "\ufffc"; // stands for an amount in the server's words

/** Measurements with a number of digits that suits their scale, so that columns line up. @param {string} rewards @returns {Writer} */
function fixedDigits(rewards) {
  const scale = Number(/scale ([0-9.e+-]+)/.exec(rewards)?.[1] ?? NaN);
  if (!(scale > 0)) return decimal;
  const digits = Math.min(Math.max(2 - Math.floor(Math.log10(scale)), 0), 8);
  return withDigits(digits, {});
}

/** "15m", or "15 minutes" if it is written out. @param {number} seconds @param {"narrow" | "long"} [unitDisplay] */
export function age(seconds, unitDisplay = "narrow") {
  const units = /** @type {[number, string][]} */ ([
    [86400, "day"],
    [3600, "hour"],
    [60, "minute"],
  ]);
  const [size, unit] = units.find(([least]) => seconds >= least) ?? [1, "second"];
  return new Intl.NumberFormat("en", { style: "unit", unit, unitDisplay }).format(Math.floor(seconds / size));
}

/** @param {Date} date */
export const timeOfDay = (date) => clock.format(date);
/** @param {string | null} at */
export const fullTime = (at) => (at ? moment.format(new Date(at)) : "–");

/** @param {string} at */
export const dayOf = (at) => day.format(new Date(at));

/** A future moment: the time if within a day, otherwise the date. @param {number} seconds from now */
export function until(seconds) {
  const at = new Date(Date.now() + 1000 * seconds);
  return seconds < 64_800 ? clock.format(at) : seconds < 500_000 ? near.format(at) : day.format(at);
}

/** "3 minutes ago". @param {string} at */
export function since(at) {
  const seconds = Math.round((Date.parse(at) - Date.now()) / 1000);
  if (seconds > -5) return "just now";
  if (seconds > -60) return ago.format(seconds, "second");
  if (seconds > -3600) return ago.format(Math.round(seconds / 60), "minute");
  if (seconds > -86400) return ago.format(Math.round(seconds / 3600), "hour");
  return ago.format(Math.round(seconds / 86400), "day");
}

/** A second cue beside colour for verdicts. */
export const GLYPH = { good: "▲", bad: "▼", open: "○" };
