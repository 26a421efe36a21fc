/** Common parts of charts: colours from the style sheet, axes, size, and redrawing when the theme changes. */
import { h } from "./dom.js";

/** @typedef {import("uplot")} Plot */
/** @typedef {import("uplot").Options} Options */
/** @type {typeof import("uplot")} */
export const uPlot = /** @type {any} */ (window).uPlot;

let root = document.documentElement; // where the colours are declared
/** @param {HTMLElement} element that declares the colours, in a foreign page */
export const colourFrom = (element) => {
  root = element;
};
/** @param {string} name */
export const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
export const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
/** Canvas pixels per pixel of a page with the default font size, so that lines scale with dense and large screens. */
export const unit = () => (devicePixelRatio * rem()) / 16;
export const font = () => `${Math.round(0.75 * rem())}px system-ui, sans-serif`;

/**
 * One axis. @param {(value: number) => string} write @param {import("uplot").Axis} [more]
 * @returns {import("uplot").Axis}
 */
export function axis(write, more = {}) {
  return {
    stroke: () => colour("quiet"),
    font: font(),
    grid: { stroke: () => colour("line"), width: 1 },
    ticks: { show: false },
    gap: 6,
    size: Math.round(1.9 * rem()),
    space: (_, index) => (index ? 2.4 : 3.6) * rem(),
    values: (_, splits) => splits.map(write),
    ...more,
  };
}

const ruler = document.createElement("canvas").getContext("2d");

/** Room for the longest label. @param {(value: number) => string} write @param {number[]} values */
export function axisWidth(write, values) {
  if (!ruler) return 60;
  ruler.font = font();
  return Math.ceil(Math.max(...values.map((value) => ruler?.measureText(write(value)).width ?? 0))) + 14;
}

/** The width of an axis' text in pixels. @param {string} text */
export function textWidth(text) {
  if (ruler) ruler.font = font();
  return ruler?.measureText(text).width ?? 7 * text.length;
}

/** A text truncated to a width in pixels. @param {string} text @param {number} room */
export function fitting(text, room) {
  const wide = textWidth;
  if (wide(text) <= room) return text;
  const letters = [...text];
  while (letters.length > 1 && wide(`${letters.join("")}…`) > room) letters.length -= Math.ceil(letters.length / 12);
  return `${letters.join("")}…`;
}

/**
 * A chart in a box that updates its size and colours.
 * @param {string} kind class of the box @param {() => Omit<Options, "width" | "height">} options
 * @param {import("uplot").AlignedData} data
 */
export function chart(kind, options, data) {
  const box = h("div", { class: `plot ${kind}` });
  let plot = /** @type {Plot | null} */ (null);
  const size = () => ({ width: Math.max(box.clientWidth, 60), height: Math.max(box.clientHeight, 60) });
  const build = () => {
    const had = plot ? plot.data : data;
    plot?.destroy();
    plot = new uPlot({ ...options(), ...size() }, had, box);
  };
  const observer = new ResizeObserver(() => (plot ? plot.setSize(size()) : build()));
  observer.observe(box);
  const repaint = () => plot?.redraw(false, true);
  window.addEventListener("goodarm-theme", repaint);
  return {
    box,
    /** @returns {Plot | null} */
    plot: () => plot,
    /** @param {import("uplot").AlignedData} fresh @param {boolean} [rescale] */
    show(fresh, rescale = true) {
      if (plot) plot.setData(fresh, rescale);
      else data = fresh;
    },
    close() {
      observer.disconnect();
      window.removeEventListener("goodarm-theme", repaint);
      plot?.destroy();
    },
  };
}

/**
 * A horizontal line with its words.
 * @param {Plot} u @param {number} value @param {string} words @param {boolean} [left] whether the words are on the left
 * @param {number} [end] where they end at the latest
 */
export function level(u, value, words, left = false, end = Infinity) {
  const { ctx, bbox } = u;
  const y = Math.round(u.valToPos(value, "y", true)) + 0.5;
  if (y < bbox.top - 1 || y > bbox.top + bbox.height + 1) return;
  const ratio = unit();
  const ink = colour("ink");
  ctx.save();
  ctx.strokeStyle = ink;
  ctx.setLineDash([]);
  ctx.lineWidth = 1.25 * ratio;
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.font = `600 ${Math.round(12 * ratio)}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  const wide = ctx.measureText(words).width;
  const x = bbox.left + (left ? 6 * ratio : Math.max(Math.min(bbox.width, end - bbox.left), wide + 8 * ratio) - wide - 4 * ratio);
  const up = y - 8 * ratio > bbox.top + 12 * ratio;
  const base = up ? y - 5 * ratio : y + 15 * ratio;
  ctx.globalAlpha = 0.85;
  ctx.fillStyle = colour("card");
  ctx.fillRect(x - 4 * ratio, base - 12 * ratio, wide + 8 * ratio, 15 * ratio);
  ctx.globalAlpha = 1;
  ctx.fillStyle = ink;
  ctx.fillText(words, x, base);
  ctx.restore();
}
