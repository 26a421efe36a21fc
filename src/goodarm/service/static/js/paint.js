/**
 * Intervals on a canvas. Good is solid, bad is hatched, undecided is pale: colour is never the only cue. Where many
 * undecided arms share a few pixels, bands show how their intervals are spread. Arrows mark intervals that go on.
 */
import { colour, font, rem, unit } from "./chart.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./chart.js").Plot} Plot */
/** @typedef {{rows: Row[], faded: (row: Row) => boolean, range: [number, number], scale: import("./intervals.js").Scale}} Scene */
const WIDEST = 20;
const DENSE = 3; // pixels per arm up to which arms share bars
const BAND = 6; // pixels of a column of a band
const SPARSE = 20; // sizes of an arrow between two of them, where arms share bars
const TALL = 0.3; // share of the chart's height from which an undecided arm turns paler: the widest interval says least
const PALEST = 0.4; // ink of the tallest interval
const WASH = 0.2; // ink of the tallest band: thousands of arms of which nothing is known yet
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
  else triangle(ctx, x, y, r, verdict === "good" ? -1 : 1);
  ctx.fill();
  ctx.stroke();
}

/** @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} r @param {number} up -1 up, 1 down */
function triangle(ctx, x, y, r, up) {
  ctx.moveTo(x, y + up * r);
  ctx.lineTo(x - r, y - up * r * 0.8);
  ctx.lineTo(x + r, y - up * r * 0.8);
  ctx.closePath();
}

/** @typedef {(value: number) => number} Place */
/** @typedef {{x: Place, y: Place, step: number, first: number, last: number}} Frame */

/** Positions and visible ranks. @param {Plot} u @param {number} many @returns {Frame} */
function frame(u, many) {
  const [x0, y0] = [u.valToPos(0, "x", true), u.valToPos(0, "y", true)];
  const [step, slope] = [u.valToPos(1, "x", true) - x0, u.valToPos(1, "y", true) - y0];
  const first = Math.max(0, Math.floor(u.posToVal(0, "x")) - 1);
  const last = Math.min(many, Math.ceil(u.posToVal(u.bbox.width / devicePixelRatio, "x")) + 1);
  return { x: (rank) => x0 + step * rank, y: (value) => y0 + slope * value, step, first, last };
}

/** @param {Plot} u @param {Scene} scene */
export function paintIntervals(u, { rows, faded, range, scale }) {
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
      const strength = isPale ? 0.18 : 1;
      ctx.globalAlpha = strength;
      const chosen = (/** @type {Row} */ row, /** @type {number} */ i) => row.verdict === verdict && pale[i] === isPale;
      if (verdict === "open" && at.step <= DENSE * unit()) paintBands(ctx, at, rows, chosen, strength, bbox.height);
      else paintBars(ctx, at, rows, chosen, verdict === "open" ? strength : 0, bbox.height);
    }
  ctx.globalAlpha = 1;
  if (at.step > 7 * unit()) paintMarks(ctx, at, rows);
  else paintMeans(ctx, at, rows);
  paintArrows(u, at, rows, range, scale);
  ctx.restore();
}

/** Opacity of an undecided interval. @param {number} height @param {number} tall of the chart @param {number} least */
const ink = (height, tall, least) => Math.max(least, Math.min(1, (TALL * tall) / Math.max(height, 1)));

/**
 * Arms that share a column of pixels become one bar, from the lowest end to the highest.
 * @param {CanvasRenderingContext2D} ctx @param {Frame} at @param {Row[]} rows
 * @param {(row: Row, i: number) => boolean} chosen @param {number} pale strength of bars that pale with their height; 0: none do
 * @param {number} tall height of the chart
 */
function paintBars(ctx, { x, y, step, first, last }, rows, chosen, pale, tall) {
  const dense = step <= DENSE;
  const bar = dense ? step : Math.min(step * 0.6, WIDEST * unit());
  let [from, wide, top, bottom] = [NaN, 0, 0, 0];
  const flush = () => {
    if (pale) ctx.globalAlpha = pale * ink(bottom - top, tall, PALEST);
    if (wide) ctx.fillRect(from, top, wide, Math.max(bottom - top, 1));
  };
  for (let i = first; i < last; i++) {
    const row = rows[i];
    if (!row || row.mean === null || row.low === null || row.high === null || !chosen(row, i)) continue;
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

/**
 * How the intervals of neighbouring arms are spread: pale from the 10% to the 90% point of their ends, stronger between
 * the medians.
 * @param {CanvasRenderingContext2D} ctx @param {Frame} at @param {Row[]} rows
 * @param {(row: Row, i: number) => boolean} chosen @param {number} strength @param {number} tall height of the chart
 */
function paintBands(ctx, { x, y, step, first, last }, rows, chosen, strength, tall) {
  const many = Math.max(1, Math.round((BAND * unit()) / step));
  const at = (/** @type {number[]} */ sorted, /** @type {number} */ share) =>
    y(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  for (let i = first; i < last; i += many) {
    const [lows, highs] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
    let [from, to] = [Infinity, -Infinity];
    for (let j = i; j < Math.min(i + many, last); j++) {
      const row = rows[j];
      if (!row || row.mean === null || row.low === null || row.high === null || !chosen(row, j)) continue;
      lows.push(row.low);
      highs.push(row.high);
      [from, to] = [Math.min(from, j), j];
    }
    if (!lows.length) continue;
    lows.sort((a, b) => a - b);
    highs.sort((a, b) => a - b);
    const left = Math.floor(x(from + 0.5));
    const wide = Math.max(1, Math.floor(x(to + 1.5)) - left);
    for (const [outer, alpha] of /** @type {const} */ ([
      [0.1, 0.45],
      [0.5, 0.75],
    ])) {
      const [top, bottom] = [at(highs, 1 - outer), at(lows, outer)];
      ctx.globalAlpha = strength * alpha * ink(bottom - top, tall, WASH);
      ctx.fillRect(left, top, wide, Math.max(bottom - top, 1));
    }
  }
  ctx.globalAlpha = strength;
}

/** @param {CanvasRenderingContext2D} ctx @param {Frame} at @param {Row[]} rows */
function paintMarks(ctx, { x, y, step, first, last }, rows) {
  const size = Math.min(6 * unit(), step / 2.2);
  const fills = { good: colour("good"), open: colour("open"), bad: colour("bad") };
  ctx.strokeStyle = colour("card");
  ctx.lineWidth = 2.2 * unit();
  for (let i = first; i < last; i++) {
    const row = rows[i];
    if (!row || row.mean === null) continue;
    ctx.fillStyle = fills[row.verdict];
    mark(ctx, row.verdict, x(i + 1), y(row.mean), row.low === null ? Math.min(1.5 * size, step / 2.2) : size);
  }
}

/** One line per verdict: their means do not continue each other. @param {CanvasRenderingContext2D} ctx @param {Frame} at @param {Row[]} rows */
function paintMeans(ctx, { x, y, step, first, last }, rows) {
  const every = Math.max(1, Math.floor(devicePixelRatio / step)); // more points than pixels add nothing
  ctx.lineJoin = "round";
  ctx.beginPath();
  let before = "";
  for (let i = first; i < last; i += every) {
    const row = rows[i];
    if (!row || row.mean === null) continue;
    if (row.verdict === before) ctx.lineTo(x(i + 1), y(row.mean));
    else ctx.moveTo(x(i + 1), y(row.mean));
    before = row.verdict;
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

/**
 * An arrow with a stem, which can't be confused with the triangle of a verdict.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} r @param {1 | -1} up
 */
function arrow(ctx, x, y, r, up) {
  ctx.beginPath();
  ctx.moveTo(x - r, y);
  ctx.lineTo(x, y + up * r);
  ctx.lineTo(x + r, y);
  ctx.moveTo(x, y + up * r);
  ctx.lineTo(x, y - up * r * 1.4);
  for (const [name, width] of /** @type {const} */ ([["card", 4.5], ["ink", 1.8]])) {
    ctx.strokeStyle = colour(name);
    ctx.lineWidth = width * unit();
    ctx.stroke();
  }
  ctx.strokeStyle = colour("card");
  ctx.lineWidth = 2 * unit();
}

/**
 * Intervals that extend beyond the edge: an arrow, and the end of the interval if there is room.
 * @param {Plot} u @param {Frame} at @param {Row[]} rows @param {[number, number]} range
 * @param {import("./intervals.js").Scale} scale
 */
function paintArrows({ ctx, bbox }, { x, step, first, last }, rows, [bottom, top], scale) {
  const size = 4.5 * unit();
  const apart = step <= DENSE * unit() ? SPARSE * size : Math.max(step, 3 * size);
  const written = step > 3.4 * rem() * devicePixelRatio;
  ctx.fillStyle = colour("ink");
  ctx.strokeStyle = colour("card");
  ctx.lineWidth = 2 * unit();
  ctx.font = font().replace(/^[\d.]+px/, `${11 * unit()}px`);
  ctx.textAlign = "center";
  for (const up of /** @type {const} */ ([-1, 1])) {
    const edge = up < 0 ? bbox.top + size * 1.2 : bbox.top + bbox.height - size * 1.2;
    let free = -Infinity;
    for (let i = first; i < last; i++) {
      const row = rows[i];
      const end = row && row.mean !== null && (up < 0 ? row.high : row.low);
      if (typeof end !== "number" || (up < 0 ? end <= top : end >= bottom) || x(i + 1) < free) continue;
      free = x(i + 1) + apart * 0.99;
      arrow(ctx, x(i + 1), edge, size, up);
      if (!written) continue;
      ctx.textBaseline = up < 0 ? "top" : "bottom";
      const [left, base] = [x(i + 1), edge - up * size * 1.9];
      ctx.strokeText(scale.value(end), left, base);
      ctx.fillText(scale.value(end), left, base);
    }
  }
}
