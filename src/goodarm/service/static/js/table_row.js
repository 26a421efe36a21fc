/** One row of the table: made once, written again for whichever arm it shows. */
import { h, s, say } from "./dom.js";
import { NO_INTERVAL, count, decimal, isExact, lift } from "./format.js";
import { nameOf } from "./described.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {{threshold: number, scale: import("./intervals.js").Scale, href: (row: Row) => string, baseline: () => number | null, priced: boolean}} About */

const EXACT = "Every case of the test set was evaluated, so the mean is known.";

/** @param {number} value @param {[number, number]} range @returns {number} per cent of the way */
const place = (value, [low, high]) => Math.min(Math.max((value - low) / (high - low || 1), 0), 1) * 100;

/** @param {string} kind @param {Node[]} inside */
const cell = (kind, ...inside) => h("div", { role: "cell", class: `cell ${kind}` }, ...inside);

/** An arrow at an end of the drawing: the interval goes on. @param {"left" | "right"} side */
const arrow = (side) =>
  s(
    "svg",
    { class: `more ${side}`, x: side === "left" ? "0" : "100%", y: "50%", overflow: "visible" },
    s("path", { d: side === "left" ? "M9-5.5 0 0l9 5.5z" : "M-9-5.5 0 0l-9 5.5z" }),
  );

/** The change relative to a baseline. @param {number | null} difference @param {number | null} baseline */
export const relative = (difference, baseline) => (difference === null || !baseline ? null : difference / baseline);

export class TableRow {
  /** @param {About} about */
  constructor(about) {
    this.about = about;
    this.index = -1;
    this.label = h("bdi");
    this.link = h("a", {}, this.label);
    this.glyph = h("span", { "aria-hidden": "true" });
    this.word = h("span", { class: "word" });
    this.verdict = cell("verdict", this.glyph, this.word);
    this.bar = s("line", { class: "bar", y1: "0", y2: "100%" });
    this.line = s("line", { class: "span", y1: "50%", y2: "50%" });
    this.dot = s("circle", { cy: "50%", r: "0.3em" });
    this.arrows = [arrow("left"), arrow("right")];
    this.drawing = s("svg", { class: "interval", "aria-hidden": "true" }, this.bar, this.line, this.dot, ...this.arrows);
    this.ends = h("span", { class: "numbers" });
    this.mean = cell("number mean");
    this.lift = cell("number lift");
    this.own = cell("number own");
    this.cost = cell("number cost");
    this.pulls = cell("number pulls");
    this.pending = cell("number pending");
    const interval = cell("interval", this.drawing, this.ends);
    const compared = about.scale.compared ? [this.lift, this.own] : [];
    const more = about.priced ? [...compared, this.cost] : compared;
    const cells = [cell("name", this.link), this.verdict, interval, this.mean, ...more, this.pulls, this.pending];
    this.element = h("div", { role: "row", class: "line" }, ...cells);
  }

  /** @param {number} index @param {number} height */
  put(index, height) {
    this.index = index;
    this.element.setAttribute("aria-rowindex", String(index + 2)); // the headings are the first row
    this.element.style.transform = `translateY(${index * height}px)`;
  }

  /** @param {Row} row @param {[number, number]} range */
  write(row, range) {
    const { scale, href } = this.about;
    const { dataset } = this.element;
    if (dataset.arm === row.arm && dataset.verdict !== row.verdict) this.flash();
    [dataset.arm, dataset.verdict] = [row.arm, row.verdict];
    say(this.label, nameOf(row));
    this.link.setAttribute("href", href(row));
    this.link.title = nameOf(row);
    this.verdict.className = `cell verdict ${row.verdict}`;
    say(this.glyph, scale.glyph(row));
    say(this.word, row.state ? `${scale.word(row)}, ${row.state}` : scale.word(row));
    const reference = scale.isReference(row);
    this.element.classList.toggle("reference", reference);
    say(this.mean, reference ? "" : scale.value(row.mean));
    say(this.lift, reference ? "" : lift(relative(row.mean, this.about.baseline())));
    say(this.own, scale.own(row.own_mean));
    say(this.cost, decimal(row.cost ?? 1));
    say(this.pulls, count(row.pulls));
    say(this.pending, row.pending ? count(row.pending) : "");
    this.draw(row, range);
  }

  /** @param {Row} row @param {[number, number]} range */
  draw(row, range) {
    const { threshold, scale } = this.about;
    const compared = row.mean !== null && !scale.isReference(row);
    const known = compared && row.low !== null && row.high !== null;
    const hidden = row.mean === null || row.mean > range[1] || row.mean < range[0];
    const kinds = [row.verdict, !known && "unknown", (hidden || !compared) && "beyond"];
    if (known && (row.low ?? 0) < range[0]) kinds.push("on-left");
    if (known && (row.high ?? 0) > range[1]) kinds.push("on-right");
    this.drawing.setAttribute("class", `interval ${kinds.filter(Boolean).join(" ")}`);
    const set = (/** @type {Element} */ element, /** @type {string} */ name, /** @type {number | null} */ value) =>
      element.setAttribute(name, `${place(value ?? threshold, range)}%`);
    set(this.bar, "x1", threshold);
    set(this.bar, "x2", threshold);
    set(this.line, "x1", row.low);
    set(this.line, "x2", row.high);
    set(this.dot, "cx", row.mean);
    const reference = scale.isReference(row) && `mean ${scale.own(row.own_mean)}`;
    const words = reference || (known ? scale.between(row.low, row.high) : row.pulls ? "no interval" : "no samples yet");
    say(this.ends, words);
    this.ends.title = words === "no interval" ? NO_INTERVAL : known && isExact(row) ? EXACT : "";
  }

  flash() {
    this.element.classList.remove("flash");
    void this.element.offsetWidth; // restarts the animation
    this.element.classList.add("flash");
  }
}
