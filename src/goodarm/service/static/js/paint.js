/** Intervals on a canvas. Good is solid, bad is hatched, undecided is pale: colour is never the only cue. */
import { colour, unit } from "./chart.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./chart.js").Plot} Plot */
/** @typedef {{rows: Row[], faded: (row: Row) => boolean}} Scene */
const WIDEST = 20;
const ORDER = /** @type {const} */ (["open", "bad", "good"]);

/** @param {CanvasRenderingContext2D} ctx @param {string} ink @param {string} ground */
function hatch(ctx, ink, ground) {
  const size = Math.round(6 * unit());
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

/** @typedef {(value: number) => number} Place */
/** @typedef {{x: Place, y: Place, step: number, first: number, last: number}} Frame */

/** Where things lie, and which ranks are in sight. @param {Plot} u @param {number} many @returns {Frame} */
function frame(u, many) {
  const [x0, y0] = [u.valToPos(0, "x", true), u.valToPos(0, "y", true)];
  const [step, slope] = [u.valToPos(1, "x", true) - x0, u.valToPos(1, "y", true) - y0];
  const first = Math.max(0, Math.floor(u.posToVal(0, "x")) - 1);
  const last = Math.min(many, Math.ceil(u.posToVal(u.bbox.width / devicePixelRatio, "x")) + 1);
  return { x: (rank) => x0 + step * rank, y: (value) => y0 + slope * value, step, first, last };
}

/** @param {Plot} u @param {Scene} scene */
export function paintIntervals(u, { rows, faded }) {
  const { ctx, bbox } = u;
  const at = frame(u, rows.length);
  const fills = inks(ctx);
  const pale = rows.map(faded);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const isPale of [true, false])
    for (const verdict of ORDER) {
      ctx.fillStyle = fills[verdict];
      ctx.globalAlpha = isPale ? 0.18 : 1;
      paintBars(ctx, at, rows, (row, i) => row.verdict === verdict && pale[i] === isPale);
    }
  ctx.globalAlpha = 1;
  if (at.step > 7 * unit()) paintMarks(ctx, at, rows);
  else paintMeans(ctx, at, rows);
  ctx.restore();
}

/**
 * Arms that share a column of pixels become one bar, from the lowest end to the highest.
 * @param {CanvasRenderingContext2D} ctx @param {Frame} at @param {Row[]} rows
 * @param {(row: Row, i: number) => boolean} chosen
 */
function paintBars(ctx, { x, y, step, first, last }, rows, chosen) {
  const dense = step <= 3;
  const bar = dense ? step : Math.min(step * 0.6, WIDEST * unit());
  let [from, wide, top, bottom] = [NaN, 0, 0, 0];
  const flush = () => wide && ctx.fillRect(from, top, wide, Math.max(bottom - top, 1));
  for (let i = first; i < last; i++) {
    const row = rows[i];
    if (!row || row.low === null || row.high === null || !chosen(row, i)) continue;
    const exact = x(i + 1) - bar / 2;
    const left = dense ? Math.floor(exact) : exact;
    if (left !== from) {
      flush();
      [from, wide] = [left, dense ? Math.max(1, Math.floor(exact + bar) - left) : bar];
      [top, bottom] = [y(row.high), y(row.low)];
    } else [top, bottom] = [Math.min(top, y(row.high)), Math.max(bottom, y(row.low))];
  }
  flush();
}

/** @param {CanvasRenderingContext2D} ctx @param {Frame} at @param {Row[]} rows */
function paintMarks(ctx, { x, y, step, first, last }, rows) {
  const size = Math.min(5 * unit(), step / 2.4);
  ctx.fillStyle = colour("ink");
  ctx.strokeStyle = colour("card");
  ctx.lineWidth = 1.5 * unit();
  for (let i = first; i < last; i++) {
    const row = rows[i];
    if (row && row.mean !== null) mark(ctx, row.verdict, x(i + 1), y(row.mean), size);
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {Frame} at @param {Row[]} rows */
function paintMeans(ctx, { x, y, step, first, last }, rows) {
  const every = Math.max(1, Math.floor(devicePixelRatio / step)); // more points than pixels add nothing
  ctx.lineJoin = "round";
  ctx.beginPath();
  for (let i = first; i < last; i += every) {
    const row = rows[i];
    if (row && row.mean !== null) ctx.lineTo(x(i + 1), y(row.mean));
  }
  for (const [ink, wide] of /** @type {const} */ ([
    ["card", 3.5],
    ["ink", 1.5],
  ])) {
    ctx.strokeStyle = colour(ink);
    ctx.lineWidth = wide * unit();
    ctx.stroke();
  }
}
