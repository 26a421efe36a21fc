/** Intervals on a canvas. Good is solid, bad is hatched, open is pale: colour is never the only cue. */
import { colour } from "./chart.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./chart.js").Plot} Plot */
/** @typedef {{rows: Row[], faded: (row: Row) => boolean}} Scene */
const ORDER = /** @type {const} */ (["open", "bad", "good"]);

/** @param {CanvasRenderingContext2D} ctx @param {string} ink @param {string} ground */
function hatch(ctx, ink, ground) {
  const size = Math.round(6 * devicePixelRatio);
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const pen = tile.getContext("2d");
  if (!pen) return ink;
  pen.fillStyle = ground;
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = ink;
  pen.lineWidth = size * 0.42;
  pen.beginPath();
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift - 1, size + 1);
    pen.lineTo(shift + size + 1, -1);
  }
  pen.stroke();
  return ctx.createPattern(tile, "repeat") ?? ink;
}

/** @param {CanvasRenderingContext2D} ctx */
const inks = (ctx) => ({
  good: colour("good"),
  open: colour("open-fill"),
  bad: hatch(ctx, colour("bad"), colour("bad-soft")),
});

/**
 * A mark at the mean: up, down or round.
 * @param {CanvasRenderingContext2D} ctx @param {string} verdict @param {number} x @param {number} y @param {number} r
 */
function mark(ctx, verdict, x, y, r) {
  ctx.beginPath();
  if (verdict === "open") ctx.arc(x, y, r * 0.8, 0, 7);
  else {
    const up = verdict === "good" ? -1 : 1;
    ctx.moveTo(x, y + up * r);
    ctx.lineTo(x - r, y - up * r * 0.8);
    ctx.lineTo(x + r, y - up * r * 0.8);
    ctx.closePath();
  }
  ctx.fill();
  ctx.stroke();
}

/** @param {Plot} u @param {Scene} scene */
export function paintIntervals(u, { rows, faded }) {
  const { ctx, bbox } = u;
  const x = (/** @type {number} */ rank) => u.valToPos(rank, "x", true);
  const y0 = u.valToPos(0, "y", true),
    slope = u.valToPos(1, "y", true) - y0;
  const first = Math.max(0, Math.floor(u.posToVal(0, "x")) - 1);
  const last = Math.min(rows.length, Math.ceil(u.posToVal(u.bbox.width / devicePixelRatio, "x")) + 1);
  const step = x(1) - x(0);
  const bar = step > 3 ? Math.min(step * 0.6, 14 * devicePixelRatio) : step;
  const fills = inks(ctx);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const pale of [true, false])
    for (const verdict of ORDER) {
      ctx.fillStyle = fills[verdict];
      ctx.globalAlpha = pale ? 0.18 : 1;
      for (let i = first; i < last; i++) {
        const row = rows[i];
        if (!row || row.verdict !== verdict || row.low === null || row.high === null || faded(row) !== pale) continue;
        const left = x(i + 1) - bar / 2;
        const from = step > 3 ? left : Math.floor(left);
        const wide = step > 3 ? bar : Math.max(1, Math.floor(left + bar) - from);
        const top = y0 + slope * row.high;
        ctx.fillRect(from, top, wide, Math.max(y0 + slope * row.low - top, 1));
      }
    }
  ctx.globalAlpha = 1;
  if (step > 7 * devicePixelRatio) paintMarks(u, rows, first, last, (v) => y0 + slope * v);
  else paintMeans(u, rows, first, last, (v) => y0 + slope * v);
  ctx.restore();
}

/** @param {Plot} u @param {Row[]} rows @param {number} first @param {number} last @param {(v: number) => number} y */
function paintMarks(u, rows, first, last, y) {
  const { ctx } = u;
  const size = Math.min(5 * devicePixelRatio, (u.valToPos(2, "x", true) - u.valToPos(1, "x", true)) / 2.4);
  ctx.fillStyle = colour("ink");
  ctx.strokeStyle = colour("card");
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (let i = first; i < last; i++) {
    const row = rows[i];
    if (row && row.mean !== null) mark(ctx, row.verdict, u.valToPos(i + 1, "x", true), y(row.mean), size);
  }
}

/** @param {Plot} u @param {Row[]} rows @param {number} first @param {number} last @param {(v: number) => number} y */
function paintMeans(u, rows, first, last, y) {
  const { ctx } = u;
  ctx.lineJoin = "round";
  ctx.beginPath();
  for (let i = first; i < last; i++) {
    const row = rows[i];
    if (row && row.mean !== null) ctx.lineTo(u.valToPos(i + 1, "x", true), y(row.mean));
  }
  for (const [ink, wide] of /** @type {const} */ ([
    ["card", 3.5],
    ["ink", 1.5],
  ])) {
    ctx.strokeStyle = colour(ink);
    ctx.lineWidth = wide * devicePixelRatio;
    ctx.stroke();
  }
}
