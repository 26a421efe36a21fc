/** The table whose rows are the intervals. Only the rows in sight are in the document, whatever the number of arms. */
import { rem } from "./chart.js";
import { h, s, say } from "./dom.js";
import { count, GLYPH } from "./format.js";
import { nameOf } from "./intervals.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {"name" | "verdict" | "mean" | "low" | "pulls" | "pending"} SortKey */
/** @typedef {{element: HTMLElement, index: number, update: (row: Row, index: number) => void}} Line */
const EXTRA = 6; // rows beyond the edge, so that scrolling never shows a gap

/** @type {{key: SortKey, text: string, kind: string}[]} */
const COLUMNS = [
  { key: "name", text: "arm", kind: "name" },
  { key: "verdict", text: "verdict", kind: "verdict" },
  { key: "low", text: "interval", kind: "interval" },
  { key: "mean", text: "mean", kind: "number mean" },
  { key: "pulls", text: "pulls", kind: "number pulls" },
  { key: "pending", text: "waiting", kind: "number pending" },
];

export class ArmTable {
  /**
   * @param {{threshold: number, scale: import("./intervals.js").Scale, href: (row: Row) => string, sort: (key: SortKey) => void}} of
   */
  constructor({ threshold, scale, href, sort }) {
    this.of = { threshold, scale, href };
    this.rows = /** @type {Row[]} */ ([]);
    this.range = /** @type {[number, number]} */ ([0, 1]);
    this.lines = /** @type {Line[]} */ ([]);
    this.frame = 0;
    this.heads = COLUMNS.map(({ key, text, kind }) => {
      const scaleEnds = kind === "interval" && h("span", { class: "ends", "aria-hidden": "true" }, h("i"), h("i"));
      return h("div", { role: "columnheader", class: `cell ${kind}` },
        h("button", { type: "button", class: "head", "data-key": key, onclick: () => sort(key) }, text), scaleEnds);
    });
    this.spacer = h("div", { class: "spacer", role: "presentation" });
    this.scroller = h("div", { class: "scroller", role: "rowgroup", tabindex: "0", "aria-label": "Arms",
      onscroll: () => this.later(), onkeydown: (/** @type {KeyboardEvent} */ e) => this.keys(e) }, this.spacer);
    this.empty = h("p", { class: "hint nothing", hidden: true }, "No arm matches.");
    this.table = h("div", { class: "arms", role: "table", "aria-label": "Arms with their intervals" },
      h("div", { role: "rowgroup", class: "arms-head" }, h("div", { role: "row", class: "line", "aria-rowindex": "1" }, ...this.heads)),
      this.scroller);
    this.element = h("div", {}, this.table, this.empty);
    this.observer = new ResizeObserver(() => this.later());
    this.observer.observe(this.scroller);
  }

  /** @param {Row[]} rows in order @param {[number, number]} range of the intervals' scale */
  show(rows, range) {
    [this.rows, this.range] = [rows, range];
    this.empty.hidden = rows.length > 0;
    this.table.setAttribute("aria-rowcount", String(rows.length + 1));
    const ends = this.table.querySelectorAll(".ends i");
    const [low, high] = this.of.scale.bounded ? [Math.max(range[0], 0), Math.min(range[1], 1)] : range;
    say(/** @type {Element} */ (ends[0]), this.of.scale.value(low));
    say(/** @type {Element} */ (ends[1]), this.of.scale.value(high));
    this.later();
  }

  /** @param {SortKey} key @param {boolean} down */
  showSort(key, down) {
    for (const head of this.heads) {
      const button = /** @type {HTMLElement} */ (head.querySelector("button"));
      const mine = button.dataset.key === key;
      if (mine) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }

  later() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.render();
    });
  }

  get height() {
    return parseFloat(getComputedStyle(this.scroller).getPropertyValue("--row")) * rem();
  }

  render() {
    const height = this.height;
    this.table.style.setProperty("--gutter", `${this.scroller.offsetWidth - this.scroller.clientWidth}px`);
    this.spacer.style.height = `${this.rows.length * height}px`;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / height) - EXTRA);
    const last = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / height) + EXTRA);
    const wanted = new Set(Array.from({ length: Math.max(last - first, 0) }, (_, i) => first + i));
    const spare = this.lines.filter((line) => !wanted.delete(line.index));
    for (const line of spare) line.index = -1;
    for (const index of wanted) {
      const line = spare.pop() ?? this.line();
      line.index = index;
      line.element.style.transform = `translateY(${index * height}px)`;
    }
    for (const line of spare) line.element.remove();
    this.lines = this.lines.filter((line) => line.index >= 0);
    for (const line of this.lines) line.update(/** @type {Row} */ (this.rows[line.index]), line.index);
  }

  /** @returns {Line} */
  line() {
    const cells = rowCells();
    const element = h("div", { role: "row", class: "line" }, ...cells.all);
    const made = { element, index: -1, update: (/** @type {Row} */ row, /** @type {number} */ index) => {
      element.setAttribute("aria-rowindex", String(index + 2));
      if (element.dataset.arm === row.arm && element.dataset.verdict !== row.verdict) flash(element);
      element.dataset.arm = row.arm;
      element.dataset.verdict = row.verdict;
      cells.write(row, this.of, this.range);
    } };
    this.spacer.append(element);
    this.lines.push(made);
    return made;
  }

  /** Up and down move between arms, also beyond what is in sight. @param {KeyboardEvent} event */
  keys(event) {
    const line = this.lines.find(({ element }) => element.contains(document.activeElement));
    if (!line || !["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const to = { ArrowDown: line.index + 1, ArrowUp: line.index - 1, Home: 0, End: this.rows.length - 1 }[event.key] ?? 0;
    const target = Math.min(Math.max(to, 0), this.rows.length - 1);
    const [top, height] = [target * this.height, this.scroller.clientHeight];
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    if (top + this.height > this.scroller.scrollTop + height) this.scroller.scrollTop = top + this.height - height;
    this.render();
    this.lines.find(({ index }) => index === target)?.element.querySelector("a")?.focus({ preventScroll: true });
  }

  /** Whether someone is pointing at a row or stands in it: the order then waits. */
  get busy() {
    return this.scroller.matches(":hover") || this.scroller.contains(document.activeElement);
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }
}

/** @param {HTMLElement} element */
function flash(element) {
  element.classList.remove("flash");
  void element.offsetWidth; // restarts the animation
  element.classList.add("flash");
}

/** @param {number} value @param {[number, number]} range */
export const place = (value, [low, high]) => Math.min(Math.max((value - low) / (high - low || 1), 0), 1) * 100;

function rowCells() {
  const link = h("a"), label = h("bdi"), glyph = h("span", { "aria-hidden": "true" }), word = h("span", { class: "word" });
  link.append(label);
  const [bar, line] = [s("line", { class: "bar", y1: "0", y2: "100%" }), s("line", { class: "span", y1: "50%", y2: "50%" })];
  const dot = s("circle", { cy: "50%", r: "0.3em" });
  const drawing = s("svg", { class: "interval", "aria-hidden": "true" }, bar, line, dot);
  const ends = h("span", { class: "unseen" });
  const cell = (/** @type {string} */ kind, /** @type {Node[]} */ ...inside) => h("div", { role: "cell", class: `cell ${kind}` }, ...inside);
  const [mean, pulls, pending] = [cell("number mean"), cell("number pulls"), cell("number pending")];
  const verdict = cell("verdict", glyph, word);
  /** @param {Row} row @param {{threshold: number, scale: import("./intervals.js").Scale, href: (row: Row) => string}} of @param {[number, number]} range */
  function write(row, { threshold, scale, href }, range) {
    say(label, nameOf(row));
    link.setAttribute("href", href(row));
    link.title = nameOf(row);
    verdict.className = `cell verdict ${row.verdict}`;
    say(glyph, GLYPH[row.verdict]);
    say(word, row.verdict);
    const known = row.low !== null && row.high !== null;
    const beyond = row.mean !== null && (row.mean > range[1] || row.mean < range[0]);
    drawing.setAttribute("class", `interval ${row.verdict}${known ? "" : " unknown"}${beyond ? " beyond" : ""}`);
    const at = (/** @type {number | null} */ v) => `${place(v ?? threshold, range)}%`;
    for (const [element, name, value] of /** @type {[Element, string, string][]} */ ([
      [bar, "x1", at(threshold)], [bar, "x2", at(threshold)], [line, "x1", at(row.low)], [line, "x2", at(row.high)], [dot, "cx", at(row.mean)],
    ])) element.setAttribute(name, value);
    say(ends, known ? `${scale.value(row.low)} to ${scale.value(row.high)}` : "none yet");
    say(mean, scale.value(row.mean));
    say(pulls, count(row.pulls));
    say(pending, row.pending ? count(row.pending) : "");
  }
  return { all: [cell("name", link), verdict, cell("interval", drawing, ends), mean, pulls, pending], write };
}
