/** Which part of the scale to show: wide intervals of arms with few samples must not flatten the others. */

/** @typedef {import("./types.js").Row} Row */

/** @param {Float64Array} sorted @param {number} share */
const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;

/**
 * @param {Row[]} rows @param {number} threshold @param {boolean} bounded
 * @param {boolean} [whole] show the mean of every decided arm, too
 * @returns {[number, number]}
 */
export function domain(rows, threshold, bounded, whole = false) {
  const pick = (/** @type {"mean" | "low" | "high"} */ key) =>
    Float64Array.from(
      rows.map((row) => row[key]).filter((x) => x !== null && Number.isFinite(x)),
      Number,
    ).sort();
  const [means, lows, highs] = [pick("mean"), pick("low"), pick("high")];
  if (!means.length) return bounded ? [-0.015, 1.015] : [threshold - 1, threshold + 1];
  const few = means.length <= 60;
  const sure = whole
    ? rows.filter((row) => row.verdict !== "open" && row.mean !== null).map((row) => row.mean ?? 0)
    : [];
  const top = sure.reduce(
    (a, b) => Math.max(a, b),
    Math.max(threshold, quantile(means, few ? 1 : 0.985), quantile(highs, few ? 0.85 : 0.6)),
  );
  const bottom = sure.reduce(
    (a, b) => Math.min(a, b),
    Math.min(threshold, quantile(means, few ? 0 : 0.015), quantile(lows, few ? 0.15 : 0.4)),
  );
  const room = 0.06 * (top - bottom || Math.abs(threshold) || 1);
  if (!bounded || bottom < 0) return [bottom - room, top + room];
  const edge = room / 4; // a mean of exactly 0 or 1 is still seen whole
  return [Math.max(bottom - room, -edge), Math.min(top + room, 1 + edge)];
}
