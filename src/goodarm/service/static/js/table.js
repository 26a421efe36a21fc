/** The table whose rows are the intervals. Only the rows in sight are in the document, whatever the number of arms. */
import { rem } from "./chart.js";
import { h, say } from "./dom.js";
import { ESTIMATE, INTERVAL } from "./meanings.js";
import { TableRow } from "./table_row.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {"name" | "verdict" | "mean" | "low" | "lift" | "own" | "cost" | "pulls" | "pending"} SortKey */
/** @typedef {{key: SortKey, text: string, kind: string, title: string}} Column */
const EXTRA = 6; // rows beyond the edge, so that scrolling never shows a gap

/** @param {import("./table_row.js").About} about @returns {Column[]} */
const columns = ({ scale: { labels, compared }, priced }) => [
  { key: "name", text: "arm", kind: "name", title: "The option, by its label" },
  { key: "verdict", text: "verdict", kind: "verdict", title: "What is certain, at the allowed error" },
  { key: "low", text: "interval", kind: "interval", title: INTERVAL },
  { key: "mean", text: labels.estimate, kind: "number mean", title: ESTIMATE[compared ? "difference" : "mean"] },
  ...(compared
    ? /** @type {Column[]} */ ([
        { key: "lift", text: "lift", kind: "number lift", title: "The difference relative to the mean of the control" },
        { key: "own", text: "mean", kind: "number own", title: "The arm's own mean reward" },
      ])
    : []),
  ...(priced
    ? /** @type {Column[]} */ ([{ key: "cost", text: "cost", kind: "number cost", title: "What a sample of this arm costs" }])
    : []),
  { key: "pulls", text: "samples", kind: "number pulls", title: "Rewards that were told for this arm" },
  { key: "pending", text: "pending", kind: "number pending", title: "Tickets of this arm whose reward is not known yet" },
];

/** @param {Column} column @param {(key: SortKey) => void} sort */
function heading({ key, text, kind, title }, sort) {
  const act = { type: "button", class: "head", "data-key": key, title, onclick: () => sort(key) };
  const ends = kind === "interval" && h("span", { class: "ends", "aria-hidden": "true" }, h("i"), h("i"));
  return h("div", { role: "columnheader", class: `cell ${kind}` }, h("span", { class: "drawn" }, h("button", act, text), ends));
}

export class ArmTable {
  /** @param {import("./table_row.js").About} about @param {(key: SortKey) => void} sort */
  constructor(about, sort) {
    this.about = about;
    this.rows = /** @type {Row[]} */ ([]);
    this.range = /** @type {[number, number]} */ ([0, 1]);
    this.lines = /** @type {TableRow[]} */ ([]);
    this.frame = 0;
    this.heads = columns(about).map((column) => heading(column, sort));
    this.spacer = h("div", { class: "spacer", role: "presentation" });
    const events = {
      onscroll: () => this.later(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.keys(event),
    };
    this.scroller = h("div", { class: "scroller", role: "rowgroup", tabindex: "0", ...events }, this.spacer);
    this.empty = h("p", { class: "hint nothing", hidden: true }, "No arm matches.");
    const first = h("div", { role: "row", class: "line", "aria-rowindex": "1" }, ...this.heads);
    const attributes = { class: `arms${about.scale.compared ? " compared" : ""}${about.priced ? " priced" : ""}${about.scale.labels.signed ? " signed" : ""}`, role: "table", "aria-label": "Arms with their intervals" };
    this.table = h("div", attributes, h("div", { role: "rowgroup", class: "arms-head" }, first), this.scroller);
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
    const { bounded, labels } = this.about.scale; // differences of shares may be as low as -100%
    const [low, high] = bounded ? [Math.max(range[0], labels.signed ? -1 : 0), Math.min(range[1], 1)] : range;
    say(/** @type {Element} */ (ends[0]), this.about.scale.value(low));
    say(/** @type {Element} */ (ends[1]), this.about.scale.value(high));
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
    this.scroller.style.setProperty("--rows", String(this.rows.length));
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / height) - EXTRA);
    const last = Math.min(
      this.rows.length,
      Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / height) + EXTRA,
    );
    const wanted = new Set(Array.from({ length: Math.max(last - first, 0) }, (_, i) => first + i));
    const spare = this.lines.filter((line) => !wanted.delete(line.index));
    for (const line of spare) line.index = -1;
    for (const index of wanted) {
      const line = spare.pop() ?? this.add();
      line.put(index, height);
    }
    for (const line of spare) line.element.remove();
    this.lines = this.lines.filter((line) => line.index >= 0);
    for (const line of this.lines) line.write(/** @type {Row} */ (this.rows[line.index]), this.range);
  }

  add() {
    const line = new TableRow(this.about);
    this.spacer.append(line.element);
    this.lines.push(line);
    return line;
  }

  /** Up and down move between arms, also beyond what is in sight. @param {KeyboardEvent} event */
  keys(event) {
    const line = this.lines.find(({ element }) => element.contains(document.activeElement));
    if (!line || !["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const to =
      { ArrowDown: line.index + 1, ArrowUp: line.index - 1, Home: 0, End: this.rows.length - 1 }[event.key] ?? 0;
    const target = Math.min(Math.max(to, 0), this.rows.length - 1);
    const [top, height] = [target * this.height, this.scroller.clientHeight];
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    if (top + this.height > this.scroller.scrollTop + height) this.scroller.scrollTop = top + this.height - height;
    this.render();
    this.lines
      .find(({ index }) => index === target)
      ?.element.querySelector("a")
      ?.focus({ preventScroll: true });
  }

  /** Whether someone points at a row or has the focus in it: the order is kept as long. */
  get busy() {
    return this.scroller.matches(":hover") || this.scroller.contains(document.activeElement);
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }
}
