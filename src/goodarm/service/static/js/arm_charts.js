/** The two charts of an arm's page. */
import { axis, axisWidth, chart, colour, level } from "./chart.js";
import { domain } from "./domain.js";
import { count, decimal, short } from "./format.js";

/** @typedef {import("./types.js").PathPoint} PathPoint */

const pullsAxis = () => axis((v) => (Number.isInteger(v) ? short(v) : ""), { grid: { show: false } });

/** @param {number} threshold @param {import("./intervals.js").Scale} scale */
export function pathChart(threshold, scale) {
  let range = /** @type {[number, number]} */ ([0, 1]);
  const made = chart("path", () => ({
    legend: { show: false }, cursor: { show: false }, padding: [8, 12, 0, 0],
    scales: { x: { time: false }, y: { range: () => range } },
    axes: [pullsAxis(), axis(scale.tick, { size: () => axisWidth(scale.value, range) })],
    series: [{},
      { stroke: () => colour("band-edge"), width: 1, points: { show: false } },
      { stroke: () => colour("band-edge"), width: 1, points: { show: false } },
      { stroke: () => colour("ink"), width: 2, points: { show: false } }],
    bands: [{ series: [2, 1], fill: () => colour("band") }],
    hooks: { draw: [(u) => level(u, threshold, `bar ${scale.bar(threshold)}`, colour("ink"))] },
  }), [[], [], [], []]);
  made.box.setAttribute("role", "img");
  return {
    element: made.box,
    /** @param {PathPoint[]} path */
    show(path) {
      const late = path.slice(Math.floor(path.length / 8));
      range = domain(/** @type {any} */ (late.length ? late : path), threshold, scale.bounded);
      made.show([path.map((p) => p.pulls), path.map((p) => p.low), path.map((p) => p.high), path.map((p) => p.mean)]);
      const last = path.at(-1);
      made.box.setAttribute("aria-label", last
        ? `After ${count(last.pulls)} pulls the mean is ${scale.value(last.mean)}, the interval ${scale.value(last.low)} to ${scale.value(last.high)}; the bar is ${scale.bar(threshold)}`
        : "No pulls yet");
    },
    close: made.close,
  };
}

export function evidenceChart() {
  let line = /** @type {number | null} */ (null);
  const made = chart("evidence", () => ({
    legend: { show: false }, cursor: { show: false }, padding: [8, 12, 0, 0],
    scales: { x: { time: false }, y: { range: (_, low, high) => [Math.max(Math.min(low ?? 0, 0), -(line ?? 4)), Math.max(high ?? 0, line ?? 0, 1) * 1.3] } },
    axes: [pullsAxis(), axis(decimal, { size: () => axisWidth(decimal, [-10.5, 10]) })],
    series: [{},
      { stroke: () => colour("good"), width: 2, points: { show: false } },
      { stroke: () => colour("bad"), width: 2, dash: [6, 3], points: { show: false } }],
    hooks: { draw: [(u) => { if (line !== null) level(u, line, `decides at ${decimal(line)}`, colour("ink")); }] },
  }), [[], [], []]);
  made.box.setAttribute("role", "img");
  return {
    element: made.box,
    /** @param {PathPoint[]} path @param {number | null} needed */
    show(path, needed) {
      line = needed;
      made.show([path.map((p) => p.pulls), path.map((p) => p.for_good), path.map((p) => p.for_bad)]);
      const last = path.at(-1);
      made.box.setAttribute("aria-label", last
        ? `Evidence for good ${decimal(last.for_good)}, for bad ${decimal(last.for_bad)}; ${decimal(needed)} decides` : "No pulls yet");
    },
    close: made.close,
  };
}
