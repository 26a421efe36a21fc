/** How many samples are left, smoothed, in words; and until when at the present rate. */
import { about, age, count, counted, until } from "./format.js";

/** @typedef {import("./types.js").Summary} Summary */
/** @typedef {import("./types.js").ProgressPoint} ProgressPoint */
const NEW = 0.4; // weight of a new estimate, in logarithms
const RECENT = 0.8; // the rate is measured since this share of the samples
const LONGEST = 3 * 365 * 86_400; // seconds beyond which no date is named
const QUICK_FIRST = "settle"; // the policy that decides the quickest arms first, so that a date can be named for half of them
const STALE = 900; // seconds without a sample after which no date is named

/** @param {number | null | undefined} before @param {number | null | undefined} now */
const smooth = (before, now) =>
  before && now ? Math.exp((1 - NEW) * Math.log(before) + NEW * Math.log(now)) : now ?? null;

/** "100 to 300", "about 100" if both are the same, or "more than 100" without an upper end. @param {number} low @param {number | null} high */
function range(low, high) {
  if (high === null) return `more than ${about(low)}`;
  const [from, to] = [about(low), about(high)];
  return from === to ? `about ${from}` : `${from} to ${to}`;
}

export class Forecast {
  constructor() {
    this.low = this.high = /** @type {number | null} */ (null);
    this.half = this.ninety = /** @type {number | null} */ (null); // for half of the undecided arms, for nine in ten
    this.near = 0; // undecided arms whose samples are not counted
    this.latest = ""; // the last estimate, as text
  }

  /** @param {Summary} of a fresh estimate */
  note({ remaining, finish, open }) {
    const latest = JSON.stringify([remaining, finish, open]);
    if (latest === this.latest) return; // the same estimate again would pull the smoothed one towards it
    this.latest = latest;
    const known = remaining ?? null;
    const [low, high] = finish ? [finish.low, finish.high] : [known, known]; // without a high end only `low` is told
    const near = finish?.near ?? 0;
    if (near !== this.near) this.low = this.high = null; // the range is about other arms now
    this.near = near;
    this.low = open ? smooth(this.low, low) : null;
    this.high = open ? smooth(this.high, high) : null;
    this.half = open ? smooth(this.half, finish?.half) : null;
    this.ninety = open ? smooth(this.ninety, finish?.ninety) : null;
  }

  /** "1,000 to 3,000 more samples"; empty if nothing is known. */
  get samples() {
    return this.low !== null ? `${range(this.low, this.high)} more samples` : "";
  }

  /** "between 14:20 and 16:40 at the present rate", or a note that samples have stopped. @param {ProgressPoint[]} points */
  when(points) {
    return this.low === null ? pause(points) : date(points, this.low, this.high);
  }
}

/** @param {ProgressPoint[]} points */
function pause(points) {
  const silent = silence(points);
  return silent >= STALE ? `but there were no samples for ${age(silent, "long")}` : "";
}

/** When so many samples will be there. @param {ProgressPoint[]} points @param {number} low @param {number | null} high */
function date(points, low, high) {
  const paused = pause(points);
  if (paused) return paused;
  const speed = rate(points);
  if (!speed) return "";
  const [first, last] = [low / speed, high === null ? Infinity : high / speed];
  if (first > LONGEST) return "at the present rate this takes years";
  const from = until(first);
  const to = last > LONGEST ? null : until(last);
  const when = to === null ? `not before ${from}` : from === to ? `around ${from}` : `between ${from} and ${to}`;
  return `${when} at the present rate`;
}

/**
 * What is left, in a sentence or two; empty if nothing is known. Half of the arms come first: how long the last one takes
 * hangs on how close it lies to the bar, and says little.
 * @param {Summary} of @param {Forecast} forecast @param {ProgressPoint[]} [points]
 */
export function outlook(of, forecast, points = []) {
  const { open, finish } = of;
  if (!open || of.ended || of.stop_after || !finish) return "";
  if (finish.guess) return `The plan: ${range(finish.low ?? 0, finish.high)} samples, if the means are spread around the bar.`;
  if (finish.waiting) return waiting(open, finish.waiting, finish.waiting_samples ?? 0);
  const near = forecast.near ? `; ${forecast.near === 1 ? "one" : count(forecast.near)} may lie close to the bar and take longest` : "";
  const arms = counted(open, "undecided arm");
  if (forecast.half === null) {
    if (!forecast.samples) return "";
    const when = forecast.when(points);
    const which = near ? `${count(open - forecast.near)} of the ${arms} need` : open === 1 ? "The undecided arm needs" : `The ${arms} need`;
    return `${which} ${forecast.samples}${when && `, ${when}`}${near}.`;
  }
  const when = of.policy.startsWith(QUICK_FIRST) ? date(points, forecast.half, forecast.half) : "";
  const [half, most] = [Math.ceil(open / 2), Math.ceil(0.9 * open)];
  const more = forecast.ninety === null ? "" : `; ${count(most)} need about ${about(forecast.ninety)}`;
  return `${count(half)} of the ${arms} ${half === 1 ? "needs" : "need"} about ${about(forecast.half)} more samples${when && `, ${when}`}${more}${near}.`;
}

/** Undecided arms that look bad and wait, and the samples that would decide them. @param {number} open @param {number} many @param {number} samples */
function waiting(open, many, samples) {
  const [wait, them] = many === 1 ? ["waits", "it"] : ["wait", "them"];
  const rest = open - many;
  const others = rest > 0 ? ` How long the other ${rest === 1 ? "one takes" : `${count(rest)} take`} is uncertain.` : "";
  return `${counted(many, "worse-looking arm")} ${wait}: about ${about(samples)} samples would decide ${them}.${others}`;
}

/** Seconds since the last sample; 0 before the first. @param {ProgressPoint[]} points */
function silence(points) {
  const last = points.at(-1);
  const first = last && points.find((p) => p.told === last.told); // later points only repeat the count
  return first && first.told ? (Date.now() - Date.parse(first.at)) / 1000 : 0;
}

/** Recent samples per second; null if there are too few. @param {ProgressPoint[]} points */
export function rate(points) {
  const last = points.at(-1);
  if (!last) return null;
  const start = points.findLast((p) => p.told <= RECENT * last.told);
  if (!start || last.told <= start.told) return null;
  const seconds = (Date.now() - Date.parse(start.at)) / 1000;
  return seconds > 1 ? (last.told - start.told) / seconds : null;
}
