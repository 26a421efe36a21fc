/**
 * Intervals on a canvas. Good is solid, bad is hatched, undecided is pale: colour is never the only cue. Where arms share
 * a few pixels, one in every few is drawn. A bar with a point goes on. Arms with few samples are a strip at the end.
 */
import { colour, font, rem, unit } from "./chart.js";
import { isWide } from "./layout.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./chart.js").Plot} Plot */
/** @typedef {{rows: Row[], layout: import("./layout.js").Layout, faded: (row: Row) => boolean, range: [number, number], scale: import("./intervals.js").Scale}} Scene */
const WIDEST = 20;
const DENSE = 4; // pixels per arm below which not every arm is drawn
const APART = 6; // pixels between two of those that are
const POINT = 7; // pixels of the point of a bar that goes on
const THIN = 3; // pixels of an interval that says next to nothing
const PALE = 0.18; // ink of arms that the search leaves out
const TALL = 0.3; // share of the chart's height from which an undecided arm turns paler: the widest interval says least
const PALEST = 0.4; // ink of the tallest interval
const CELL = 7; // pixels of a bar of the strip's distribution
const DOTS = 3; // pixels per arm from which the strip shows each mean
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

/** @param {Plot} u @param {Scene} scene @returns {number} one arm in how many is drawn */
export function paintIntervals(u, { rows, layout, faded, range, scale }) {
  const { ctx, bbox } = u;
  const at = frame(u, layout.main);
  const fills = inks(ctx);
  const pale = rows.map(faded);
  const every = at.step < DENSE * unit() ? Math.ceil((APART * unit()) / at.step) : 1;
  const drawn = everyOf(rows, at, every);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  paintEdges(u, at, layout);
  for (const isPale of [true, false])
    for (const verdict of ORDER) {
      ctx.fillStyle = fills[verdict];
      const chosen = drawn.filter((i) => rows[i]?.verdict === verdict && pale[i] === isPale);
      paintBars(u, at, rows, chosen, { step: at.step * every, strength: isPale ? PALE : 1, fades: verdict === "open", range });
    }
  ctx.globalAlpha = 1;
  if (at.step > 7 * unit()) paintMarks(ctx, at, rows);
  else paintMeans(ctx, at, rows);
  paintEnds(u, at, rows, range, scale);
  paintStrip(u, at, rows, layout, pale);
  ctx.restore();
  return every;
}

/** One in every few arms of each verdict. @param {Row[]} rows @param {Frame} at @param {number} every */
function everyOf(rows, { first, last }, every) {
  const found = [];
  let [before, seen] = ["", 0];
  for (let i = 0; i < last; i++) {
    const { verdict } = /** @type {Row} */ (rows[i]);
    if (verdict !== before) [before, seen] = [verdict, 0];
    if (i >= first && seen % every === every >> 1) found.push(i);
    seen += 1;
  }
  return found;
}

/** Lines between the groups of arms. @param {Plot} u @param {Frame} at @param {import("./layout.js").Layout} layout */
function paintEdges({ ctx, bbox }, { x }, { sections }) {
  ctx.strokeStyle = colour("line");
  ctx.lineWidth = unit();
  ctx.setLineDash([4 * unit(), 3 * unit()]);
  ctx.beginPath();
  for (const { from, kind } of sections.slice(1)) {
    if (kind === "few") continue;
    ctx.moveTo(x(from), bbox.top);
    ctx.lineTo(x(from), bbox.top + bbox.height);
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Opacity of an undecided interval. @param {number} height @param {number} tall of the chart @param {number} least */
const ink = (height, tall, least) => Math.max(least, Math.min(1, (TALL * tall) / Math.max(height, 1)));

/**
 * One bar per arm. Those that go on beyond the scale end in a point.
 * @param {Plot} u @param {Frame} at @param {Row[]} rows @param {number[]} chosen
 * @param {{step: number, strength: number, fades: boolean, range: [number, number]}} how fades: the taller, the paler
 */
function paintBars({ ctx, bbox }, { x, y }, rows, chosen, { step, strength, fades, range }) {
  const [ceiling, floor] = [bbox.top, bbox.top + bbox.height];
  for (const i of chosen) {
    const row = rows[i];
    if (!row || row.mean === null || row.low === null || row.high === null) continue;
    const wide = isWide(row, range) ? Math.min(THIN * unit(), 0.6 * step) : Math.min(step * 0.6, WIDEST * unit());
    const [top, bottom] = [y(row.high), y(row.low)];
    const [up, down] = [row.high > range[1], row.low < range[0]];
    ctx.globalAlpha = strength * (fades ? ink(bottom - top, bbox.height, PALEST) : 1);
    const point = Math.min(POINT * unit(), 0.8 * wide + 2 * unit());
    const [left, right, middle] = [x(i + 1) - wide / 2, x(i + 1) + wide / 2, x(i + 1)];
    const [high, low] = [up ? ceiling + point : top, down ? floor - point : Math.max(bottom, top + 1)];
    ctx.beginPath();
    ctx.moveTo(left, high);
    if (up) ctx.lineTo(middle, ceiling);
    ctx.lineTo(right, high);
    ctx.lineTo(right, low);
    if (down) ctx.lineTo(middle, floor);
    ctx.lineTo(left, low);
    ctx.closePath();
    ctx.fill();
  }
}

/**
 * Arms with few samples: their means only, as points, or as a distribution where there are too many of them.
 * @param {Plot} u @param {Frame} at @param {Row[]} rows @param {import("./layout.js").Layout} layout @param {boolean[]} pale
 */
function paintStrip({ ctx, bbox }, { x, y, step }, rows, layout, pale) {
  if (layout.main === rows.length) return;
  const [left, right] = [x(layout.start), x(layout.end)];
  ctx.fillStyle = colour("band");
  ctx.globalAlpha = 0.5;
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.globalAlpha = 1;
  ctx.fillStyle = colour("quiet");
  ctx.font = font().replace(/^[\d.]+px/, `${11 * unit()}px`);
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  ctx.fillText("means only", (left + right) / 2, bbox.top + 6 * unit(), right - left);
  ctx.fillStyle = colour("open");
  if (layout.step * step >= DOTS * unit()) {
    for (let i = layout.main; i < rows.length; i++) {
      const mean = rows[i]?.mean;
      if (mean === null || mean === undefined) continue;
      ctx.globalAlpha = pale[i] ? PALE : 0.7;
      ctx.beginPath();
      ctx.arc(x(layout.place(i)), y(mean), 2.4 * unit(), 0, 7);
      ctx.fill();
    }
  } else {
    const size = CELL * unit();
    const many = Math.ceil(bbox.height / size);
    /** @type {Record<"all" | "bright", number[]>} */
    const counts = { all: Array(many).fill(0), bright: Array(many).fill(0) };
    for (let i = layout.main; i < rows.length; i++) {
      const mean = rows[i]?.mean;
      const cell = typeof mean === "number" ? Math.floor((y(mean) - bbox.top) / size) : -1;
      if (cell < 0 || cell >= many) continue;
      counts.all[cell] = (counts.all[cell] ?? 0) + 1;
      if (!pale[i]) counts.bright[cell] = (counts.bright[cell] ?? 0) + 1;
    }
    const most = Math.max(...counts.all, 1);
    for (const [kind, alpha] of /** @type {const} */ ([["all", 0.25], ["bright", 0.7]])) {
      ctx.globalAlpha = alpha;
      counts[kind].forEach((number, cell) => {
        if (number) ctx.fillRect(left, bbox.top + cell * size, Math.max(((right - left) * 0.95 * number) / most, unit()), size - unit());
      });
    }
  }
  ctx.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} ctx @param {Frame} at @param {Row[]} rows */
function paintMarks(ctx, { x, y, step, first, last }, rows) {
  const size = Math.min(6 * unit(), 0.32 * step);
  const fills = { good: colour("good"), open: colour("open"), bad: colour("bad") };
  ctx.strokeStyle = colour("card");
  ctx.lineWidth = Math.min(2.2 * unit(), 0.35 * size);
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
 * Where intervals that go on reach, if there is room to write that.
 * @param {Plot} u @param {Frame} at @param {Row[]} rows @param {[number, number]} range
 * @param {import("./intervals.js").Scale} scale
 */
function paintEnds({ ctx, bbox }, { x, step, first, last }, rows, [bottom, top], scale) {
  if (step <= 3.4 * rem() * devicePixelRatio) return;
  ctx.fillStyle = colour("ink");
  ctx.font = font().replace(/^[\d.]+px/, `${11 * unit()}px`);
  ctx.textAlign = "left";
  const beside = Math.min(step * 0.3, (WIDEST / 2) * unit()) + 3 * unit();
  for (let i = first; i < last; i++) {
    const row = rows[i];
    if (!row || row.mean === null || row.high === null || row.low === null) continue;
    ctx.textBaseline = "top";
    if (row.high > top) ctx.fillText(scale.value(row.high), x(i + 1) + beside, bbox.top + unit());
    ctx.textBaseline = "bottom";
    if (row.low < bottom) ctx.fillText(scale.value(row.low), x(i + 1) + beside, bbox.top + bbox.height - unit());
  }
}
