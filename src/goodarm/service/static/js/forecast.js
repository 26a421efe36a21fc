/** The remaining samples as a smoothed range, and the expected end at the present rate. */
import { about, age, until } from "./format.js";

/** @typedef {import("./types.js").Summary} Summary */
/** @typedef {import("./types.js").ProgressPoint} ProgressPoint */
const NEW = 0.4; // weight of a new estimate, in logarithms
const RECENT = 0.8; // the rate is measured since this share of the samples
const LONGEST = 3 * 365 * 86_400; // seconds beyond which no date is named
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
  }

  /** "1,000 to 3,000 more samples"; empty if nothing is known. */
  get samples() {
    return this.low !== null ? `${range(this.low, this.high)} more samples` : "";
  }

  /** "between 14:20 and 16:40 at the present rate", or a note that samples have stopped. @param {ProgressPoint[]} points */
  when(points) {
    const silent = silence(points);
    if (silent >= STALE) return `but there were no samples for ${age(silent, "long")}`;
    const speed = rate(points);
    if (!speed || this.low === null) return "";
    const [first, last] = [this.low / speed, this.high === null ? Infinity : this.high / speed];
    if (first > LONGEST) return "at the present rate this takes years";
    const from = until(first);
    const to = last > LONGEST ? null : until(last);
    const date = to === null ? `not before ${from}` : from === to ? `around ${from}` : `between ${from} and ${to}`;
    return `${date} at the present rate`;
  }
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
