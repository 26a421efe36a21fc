/** Choose the visible part of the scale, so that wide intervals of arms with few samples don't flatten the others. */

/** @typedef {{mean: number | null, low: number | null, high: number | null, verdict?: string}} Known */
const FEW = 60; // arms of which each is seen
const SOME = 3; // decided arms from which they set the scale
const ROOM = 0.09; // beyond what must be seen, so that a mean at the edge does not touch the mark of a cut interval
const SLACK = 1.6; // how much longer a scale may be if nothing is cut off then

/** @param {Float64Array} sorted @param {number} share */
const quantile = (sorted, share) => sorted[Math.round(share * (sorted.length - 1))];

/** @param {Known[]} rows @param {"mean" | "low" | "high"} key */
const sorted = (rows, key) =>
  Float64Array.from(
    rows.map((row) => row[key]).filter((x) => x !== null && Number.isFinite(x)),
    Number,
  ).sort();

/** The range that must be visible for some arms. @param {Known[]} rows @param {number} means @param {number} ends shares that must fit */
function hull(rows, means, ends) {
  const seen = sorted(rows, "mean");
  const wide = ends ? [quantile(sorted(rows, "low"), 1 - ends), quantile(sorted(rows, "high"), ends)] : [];
  return [quantile(seen, 1 - means), quantile(seen, means), ...wide].filter((x) => x !== undefined);
}

/**
 * Decided arms count with their intervals. As soon as there are some, undecided ones count with their means only: their
 * intervals are widest where least is known.
 * @param {Known[]} rows @param {number} threshold @param {boolean} bounded
 * @param {boolean} [whole] also show the mean of every decided arm
 * @returns {[number, number]}
 */
export function domain(rows, threshold, bounded, whole = false) {
  const seen = rows.filter((row) => row.mean !== null);
  if (!seen.length) return bounded ? [-0.015, 1.015] : [threshold - 1, threshold + 1];
  const few = seen.length <= FEW;
  const isDecided = (/** @type {Known} */ row) => row.verdict === "good" || row.verdict === "bad";
  const [decided, open] = [seen.filter(isDecided), seen.filter((row) => !isDecided(row))];
  const wanted = [
    threshold,
    ...hull(decided, whole || few ? 1 : 0.97, few ? 0.9 : 0.6),
    ...hull(open, few ? 1 : 0.95, decided.length >= SOME ? 0 : few ? 0.85 : 0.5),
  ];
  let [bottom, top] = ends(wanted);
  const [lowest, highest] = ends([bottom, top, ...hull(seen, 1, 1)]);
  if (few && highest - lowest <= SLACK * (top - bottom)) [bottom, top] = [lowest, highest];
  const room = ROOM * (top - bottom || Math.abs(threshold) || 1);
  if (!bounded || bottom < 0) return [bottom - room, top + room];
  const edge = room / 4; // a mean of exactly 0 or 1 is still seen whole
  return [Math.max(bottom - room, -edge), Math.min(top + room, 1 + edge)];
}

/** @param {number[]} values @returns {[number, number]} */
const ends = (values) => [
  values.reduce((a, b) => Math.min(a, b), Infinity),
  values.reduce((a, b) => Math.max(a, b), -Infinity),
];

/**
 * Intervals that extend beyond the visible range. @param {Known[]} rows @param {[number, number]} range
 * @returns {{above: number, below: number, highest: number, lowest: number}}
 */
export function clipped(rows, [bottom, top]) {
  const found = { above: 0, below: 0, highest: -Infinity, lowest: Infinity };
  for (const { mean, low, high } of rows) {
    if (mean === null) continue;
    if (high !== null && high > top) {
      found.above += 1;
      found.highest = Math.max(found.highest, high);
    }
    if (low !== null && low < bottom) {
      found.below += 1;
      found.lowest = Math.min(found.lowest, low);
    }
  }
  return found;
}
