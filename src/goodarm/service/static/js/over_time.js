/** Verdicts over time: how many arms were good and bad after so many pulls. Good is drawn solid, bad dashed. */
import { axis, axisWidth, chart, colour, rem } from "./chart.js";
import { count, short } from "./format.js";

/** @typedef {import("./types.js").ProgressPoint} ProgressPoint */
const MOST = 2_000; // points kept; beyond, every second one is dropped

export function overTime() {
  let points = /** @type {ProgressPoint[]} */ ([]);
  const step = { paths: /** @type {any} */ (undefined) };
  const made = chart("over-time", () => {
    step.paths = /** @type {any} */ (window).uPlot.paths.stepped({ align: 1 });
    return {
      legend: { show: false },
      cursor: { show: false },
      padding: [8, () => axisWidth((n) => `▼ ${count(n)} `, [points.at(-1)?.good ?? 0, points.at(-1)?.bad ?? 0]), 0, 0],
      scales: { x: { time: false }, y: { range: (_, __, max) => [0, Math.max(max, 4) * 1.05] } },
      axes: [axis(short, { space: () => 4.5 * rem(), grid: { show: false } }),
        axis((v) => (Number.isInteger(v) ? count(v) : ""), { size: (_, values) => axisWidth(String, /** @type {any} */ (values ?? ["0"])) })],
      series: [{},
        { stroke: () => colour("good"), width: 2.5, points: { show: false }, ...step },
        { stroke: () => colour("bad"), width: 2.5, dash: [6, 3], points: { show: false }, ...step }],
      hooks: { draw: [ends] },
    };
  }, [[], [], []]);

  /** The two lines are named where they end. @param {import("./chart.js").Plot} u */
  function ends(u) {
    const last = points.at(-1);
    if (!last) return;
    const { ctx, bbox } = u;
    const size = 0.8 * rem() * devicePixelRatio;
    const [good, bad] = [u.valToPos(last.good, "y", true), u.valToPos(last.bad, "y", true)];
    const near = Math.abs(good - bad) < size * 1.2;
    const shift = near ? (size * 1.2 - Math.abs(good - bad)) / 2 : 0;
    ctx.save();
    ctx.font = `600 ${size}px system-ui, sans-serif`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    const up = last.good >= last.bad ? -1 : 1;
    const lowest = bbox.top + bbox.height - size * 0.4;
    const rise = near ? Math.min(0, lowest - Math.max(good, bad) - shift) : 0;
    for (const [kind, y, sign] of /** @type {const} */ ([["good", good, up], ["bad", bad, -up]])) {
      ctx.fillStyle = colour(kind);
      ctx.fillText(`${kind === "good" ? "▲" : "▼"} ${count(last[kind])}`, bbox.left + bbox.width + 6 * devicePixelRatio, y + sign * shift + rise);
    }
    ctx.restore();
  }

  function draw() {
    made.show([points.map((p) => p.told), points.map((p) => p.good), points.map((p) => p.bad)]);
    made.box.setAttribute("aria-label", words());
  }

  function words() {
    const last = points.at(-1);
    return last ? `After ${count(last.told)} pulls: ${count(last.good)} good, ${count(last.bad)} bad` : "No pulls yet";
  }
  made.box.setAttribute("role", "img");

  return {
    element: made.box,
    /** @param {ProgressPoint[]} all */
    show(all) {
      points = all;
      draw();
    },
    /** @param {ProgressPoint} point */
    add(point) {
      const last = points.at(-1);
      if (last && point.told < last.told) return;
      if (last && point.told === last.told) points.pop();
      points.push(point);
      if (points.length > MOST) points = points.filter((_, i) => i % 2 === 0 || i === points.length - 1);
      draw();
    },
    close: made.close,
  };
}
