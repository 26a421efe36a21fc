/** The two charts of an arm's page. */
import { axis, axisWidth, chart, colour, level, rem, unit } from "./chart.js";
import { clipped, domain } from "./domain.js";
import { h, say } from "./dom.js";
import { count, evidence, short } from "./format.js";

/** @typedef {import("./types.js").PathPoint} PathPoint */
/** @typedef {import("uplot").Series} Series */

const QUIET = {
  legend: { show: false },
  cursor: { show: false },
  padding: /** @type {[number, number, number, number]} */ ([8, 12, 0, 0]),
};
const pullsAxis = () => axis((v) => (Number.isInteger(v) ? short(v) : ""), { grid: { show: false } });

/** @param {string} ink @param {number} width @param {number[]} [dash] @returns {Series} */
const line = (ink, width, dash) => ({
  stroke: () => colour(ink),
  width: (width * rem()) / 16,
  points: { show: false },
  ...(dash ? { dash } : {}),
});

/** Arrows where the band goes on beyond the chart. @param {import("./chart.js").Plot} u @param {[number, number]} range */
function paintCuts({ ctx, bbox, data, valToPos }, [bottom, top]) {
  const size = 4 * unit();
  ctx.save();
  ctx.strokeStyle = colour("quiet");
  ctx.lineWidth = 1.5 * unit();
  ctx.beginPath();
  for (const [key, up] of /** @type {const} */ ([[2, true], [1, false]])) {
    let free = -Infinity;
    data[0].forEach((pulls, i) => {
      const end = data[key]?.[i];
      const x = valToPos(pulls, "x", true);
      if (typeof end !== "number" || (up ? end <= top : end >= bottom) || x < free) return;
      free = x + 12 * size;
      const [tip, way] = up ? [bbox.top + 2 * unit(), 1] : [bbox.top + bbox.height - 2 * unit(), -1];
      ctx.moveTo(x, tip + 3 * way * size);
      ctx.lineTo(x, tip);
      ctx.moveTo(x - size, tip + way * size);
      ctx.lineTo(x, tip);
      ctx.lineTo(x + size, tip + way * size);
    });
  }
  ctx.stroke();
  ctx.restore();
}

/** @param {number | null} threshold @param {import("./described.js").Scale} scale */
export function pathChart(threshold, scale) {
  let range = /** @type {[number, number]} */ ([0, 1]);
  const bar = threshold === null ? "" : `; the bar is ${scale.bar(threshold)}`;
  const made = chart(
    "path",
    () => ({
      ...QUIET,
      scales: { x: { time: false }, y: { range: () => range } },
      axes: [pullsAxis(), axis(scale.tick, { size: () => axisWidth(scale.value, range) })],
      series: [{}, line("band-edge", 1), line("band-edge", 1), line("ink", 2)],
      bands: [{ series: [2, 1], fill: () => colour("band") }],
      hooks: {
        draw: [
          (u) => {
            paintCuts(u, range);
            if (threshold !== null) level(u, threshold, scale.line);
          },
        ],
      },
    }),
    [[], [], [], []],
  );
  made.box.setAttribute("role", "img");
  const beyond = h("p", { class: "hint", hidden: true });
  return {
    element: made.box,
    note: beyond,
    /** @param {PathPoint[]} path */
    show(path) {
      const late = path.slice(Math.floor(path.length / 8)); // the first samples say next to nothing, and fill the scale
      const seen = late.length ? late : path;
      range = domain(seen, threshold ?? seen.at(-1)?.mean ?? 0.5, scale.bounded);
      const { above, below, highest, lowest } = clipped(path, range);
      const ends = [above && `up to ${scale.value(highest)}`, below && `down to ${scale.value(lowest)}`];
      say(beyond, above || below ? `↑ Earlier intervals go on, ${ends.filter(Boolean).join(" and ")}.`.replace("↑", above && below ? "↑ ↓" : above ? "↑" : "↓") : "");
      beyond.hidden = !(above || below);
      made.show([path.map((p) => p.pulls), path.map((p) => p.low), path.map((p) => p.high), path.map((p) => p.mean)]);
      const last = path.at(-1);
      const between = last && `${scale.value(last.low)} to ${scale.value(last.high)}`;
      made.box.setAttribute(
        "aria-label",
        last
          ? `After ${count(last.pulls)} samples: mean ${scale.value(last.mean)}, interval ${between}${bar}`
          : "No samples yet",
      );
    },
    close: made.close,
  };
}

/**
 * Evidence from 0 to slightly above the deciding line. Evidence can fall without limit, so low values are cut off.
 * @param {{good: string, bad: string}} kinds the words for the two verdicts
 */
export function evidenceChart(kinds) {
  let needed = /** @type {number | null} */ (null);
  const floor = () => -(needed ?? 4);
  const below = h("p", { class: "hint", hidden: true });
  const range = (/** @type {number | null} */ low, /** @type {number | null} */ high) =>
    /** @type {[number, number]} */ ([
      Math.max(Math.min(low ?? 0, 0), floor()),
      Math.max(high ?? 0, needed ?? 0, 1) * 1.3,
    ]);
  const made = chart(
    "evidence",
    () => ({
      ...QUIET,
      scales: { x: { time: false }, y: { range: (_, low, high) => range(low, high) } },
      axes: [pullsAxis(), axis(evidence, { size: () => axisWidth(evidence, [-10.5, 10]) })],
      series: [{}, line("good", 2), line("bad", 2, [6, 3])],
      hooks: {
        draw: [
          (u) => {
            if (needed !== null) level(u, needed, `decides at ${evidence(needed)}`, true);
          },
        ],
      },
    }),
    [[], [], []],
  );
  made.box.setAttribute("role", "img");
  return {
    element: made.box,
    note: below,
    /** @param {PathPoint[]} path @param {number | null} line what decides */
    show(path, line) {
      needed = line;
      const least = path.reduce((low, p) => Math.min(low, p.for_good ?? 0, p.for_bad ?? 0), 0);
      below.hidden = least >= floor();
      say(below, `Evidence below ${evidence(floor())} is not drawn.`);
      made.show([path.map((p) => p.pulls), path.map((p) => p.for_good), path.map((p) => p.for_bad)]);
      const last = path.at(-1);
      const words =
        last &&
        `Evidence that it is ${kinds.good} ${evidence(last.for_good)}, ${kinds.bad} ${evidence(last.for_bad)}; ${evidence(line)} decides`;
      made.box.setAttribute("aria-label", words ?? "No samples yet");
    },
    close: made.close,
  };
}
