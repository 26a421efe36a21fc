/** An arm in words: its name, its tip in the chart, and what the chart cuts off. */
import { clipped } from "./domain.js";
import { h } from "./dom.js";
import { count, counted, isExact, metricWords } from "./format.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {ReturnType<typeof import("./format.js").scaleOf>} Scale */

/** @param {Row} row */
export const nameOf = (row) => row.label || row.arm;

/** The mean and the interval, if there is one. @param {Row} row @param {Scale} scale */
const between = (row, scale) =>
  `${scale.value(row.mean)}, ` +
  (row.low === null
    ? "no interval"
    : isExact(row)
      ? "exact: no case is left"
      : `between ${scale.value(row.low)} and ${scale.value(row.high)}`);

/** @param {Row} row @param {Scale} scale */
export function describe(row, scale) {
  const pending = row.pending ? `, ${counted(row.pending, "ticket")} pending` : "";
  if (row.mean === null) return `${nameOf(row)}: no samples yet${pending}`;
  const where = `${scale.labels.estimate} ${between(row, scale)}`;
  return `${nameOf(row)}: ${scale.word(row)}, ${where}, ${counted(row.pulls, "sample")}${pending}`;
}

/** @param {Row} row @param {Scale} scale @returns {Node[]} */
export function tipLines(row, scale) {
  return [
    h("strong", {}, h("bdi", {}, nameOf(row))),
    h("span", { class: `verdict ${row.verdict}` }, `${scale.glyph(row)} ${scale.word(row)}`),
    h("span", {}, row.mean === null ? "no samples yet" : between(row, scale)),
    ...(row.metrics ?? []).map((metric) => h("span", { class: metric.failed ? "bad" : "" }, h("bdi", {}, metricWords(metric)))),
    h("span", { class: "hint" }, counted(row.pulls, "sample") + (row.pending ? `, ${count(row.pending)} pending` : "")),
  ];
}

/** Which intervals are cut off, and how far they reach. @param {Row[]} rows @param {[number, number]} range @param {Scale} scale */
export function goesOn(rows, range, scale) {
  const { above, below, highest, lowest } = clipped(rows, range);
  const parts = [
    above && `↑ ${counted(above, "interval")} ${above === 1 ? "goes" : "go"} on, up to ${scale.value(highest)}.`,
    below && `↓ ${counted(below, "interval")} ${below === 1 ? "goes" : "go"} on, down to ${scale.value(lowest)}.`,
  ];
  return parts.filter(Boolean).join(" ");
}
