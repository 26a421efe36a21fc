/** Verdicts over time: numbers of good and bad arms after each number of samples. Good is solid, bad is dashed. */
import { axis, axisWidth, chart, colour, rem, unit, uPlot } from "./chart.js";
import { count, GLYPH, short } from "./format.js";

/** @typedef {import("./types.js").ProgressPoint} ProgressPoint */
const MOST = 2_000; // points kept; beyond that, every second one is dropped

export class OverTime {
  /** @param {{good: string, bad: string}} kinds the words for the two verdicts */
  constructor(kinds) {
    this.kinds = kinds;
    this.points = /** @type {ProgressPoint[]} */ ([]);
    this.made = chart("over-time", () => this.options(), [[], [], []]);
    this.element = this.made.box;
    this.element.setAttribute("role", "img");
  }

  /** @returns {Omit<import("uplot").Options, "width" | "height">} */
  options() {
    const step = { paths: uPlot.paths.stepped?.({ align: 1 }), width: (2.5 * rem()) / 16, points: { show: false } };
    const room = () => {
      const last = this.points.at(-1);
      return axisWidth((n) => `▼ ${count(n)} `, [last?.good ?? 0, last?.bad ?? 0]);
    };
    return {
      legend: { show: false },
      cursor: { show: false },
      padding: [8, room, 0, 0],
      scales: { x: { time: false }, y: { range: (_, __, max) => [0, Math.max(max, 4) * 1.05] } },
      axes: [
        axis(short, { space: () => 4.5 * rem(), grid: { show: false } }),
        axis((v) => (Number.isInteger(v) ? count(v) : ""), {
          size: (_, values) => axisWidth(String, /** @type {any} */ (values ?? ["0"])),
        }),
      ],
      series: [{}, { ...step, stroke: () => colour("good") }, { ...step, stroke: () => colour("bad"), dash: [6, 3] }],
      hooks: { draw: [(u) => this.name(u)] },
    };
  }

  /** The two lines are named where they end. @param {import("./chart.js").Plot} u */
  name(u) {
    const last = this.points.at(-1);
    if (!last) return;
    const { ctx, bbox } = u;
    const size = 13 * unit();
    const ends = { good: u.valToPos(last.good, "y", true), bad: u.valToPos(last.bad, "y", true) };
    const apart = Math.max(0, (size * 1.3 - Math.abs(ends.good - ends.bad)) / 2);
    const up = last.good >= last.bad ? -1 : 1;
    const lift = Math.min(0, bbox.top + bbox.height - Math.max(ends.good, ends.bad) - apart);
    ctx.save();
    ctx.font = `600 ${size}px system-ui, sans-serif`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    for (const kind of /** @type {const} */ (["good", "bad"])) {
      const y = ends[kind] + (kind === "good" ? up : -up) * apart + lift;
      ctx.fillStyle = colour(kind);
      ctx.fillText(`${GLYPH[kind]} ${count(last[kind])}`, bbox.left + bbox.width + 6 * unit(), y);
    }
    ctx.restore();
  }

  draw() {
    const { points } = this;
    const last = points.at(-1);
    this.made.show([points.map((p) => p.told), points.map((p) => p.good), points.map((p) => p.bad)]);
    const words = last && `After ${count(last.told)} samples: ${count(last.good)} ${this.kinds.good}, ${count(last.bad)} ${this.kinds.bad}`;
    this.element.setAttribute("aria-label", words ?? "No samples yet");
  }

  /** @param {ProgressPoint[]} points */
  show(points) {
    this.points = points;
    this.draw();
  }

  /** @param {ProgressPoint} point */
  add(point) {
    const last = this.points.at(-1);
    if (last && point.told < last.told) return;
    const same = last && point.told === last.told; // an event without a sample: the last sample is as old as before
    if (same) this.points.pop();
    this.points.push(same ? { ...point, at: last.at } : point);
    if (this.points.length > MOST) this.points = this.points.filter((_, i) => i % 2 === 0 || i === MOST);
  }

  close() {
    this.made.close();
  }
}
