/** Every arm as an interval against the bar, sorted by mean: hovering or arrow keys name the arm, dragging zooms. */
import { axis, axisWidth, chart, fitting, level, rem, textWidth } from "./chart.js";
import { describe, goesOn, nameOf, tipLines } from "./described.js";
import { domain } from "./domain.js";
import { h, say } from "./dom.js";
import { count, counted, GLYPH } from "./format.js";
import { Layout } from "./layout.js";
import { paintIntervals } from "./paint.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {ReturnType<typeof import("./format.js").scaleOf>} Scale */
const FEWEST = 5; // arms that a zoom leaves in sight
const NAMED = 5; // rem per arm from which its name is written under it
const SHORT = 2; // rem per arm from which names are written if all of them fit
const MANY = 20; // arms from which the decided ones can be shown alone
const LOST = 0.1; // share of decided arms below which they are shown alone at first
const collator = new Intl.Collator(undefined, { numeric: true });
const GROUP = { good: 0, open: 1, bad: 2 };

/** The chart's order: good arms, then undecided, then bad ones, each by mean. @param {Row[]} rows */
export const ranked = (rows) =>
  rows.sort(
    (a, b) =>
      GROUP[a.verdict] - GROUP[b.verdict] ||
      (b.mean ?? -Infinity) - (a.mean ?? -Infinity) ||
      collator.compare(a.arm, b.arm),
  );

export class IntervalChart {
  /** @param {number} threshold @param {Scale} scale @param {(row: Row) => void} open */
  constructor(threshold, scale, open) {
    this.threshold = threshold;
    this.scale = scale;
    this.open = open;
    this.every = /** @type {Row[]} */ ([]);
    this.rows = /** @type {Row[]} */ ([]); // those in the chart
    this.decided = false;
    this.asked = false; // whether the reader has said which arms to show
    this.faded = (/** @type {Row} */ _) => false;
    this.range = /** @type {[number, number]} */ ([0, 1]);
    this.layout = new Layout([], this.range);
    this.drawn = 1; // one arm in how many is drawn
    this.zoomed = /** @type {[number, number] | null} */ (null);
    this.at = 0; // the rank pointed at, from 1
    this.dragged = false;
    this.made = chart("intervals", () => this.options(), [[], []]);
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.slider = h(
      "div",
      {
        class: "plot-box",
        role: "slider",
        tabindex: "0",
        "aria-label": "Arms by rank",
        "aria-valuemin": "1",
        "aria-valuemax": "1",
        "aria-valuenow": "1",
        "aria-valuetext": "no arm",
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.keys(event),
        onblur: () => this.hideTip(),
      },
      this.made.box,
      this.tip,
    );
    const title = h("p", { class: "axis-name up" }, scale.axis);
    const below = h("p", { class: "axis-name" }, "arms, each group from the highest to the lowest mean");
    this.element = h("div", { class: "intervals-box" }, title, this.slider, below, this.tools());
  }

  tools() {
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ act) =>
      h("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick: act }, text);
    this.all = button("all arms", "Show all arms", () => this.reset());
    this.all.hidden = true;
    this.beyond = h("span", { class: "hint beyond" });
    this.alone = h(
      "button",
      { type: "button", class: "quiet", "aria-pressed": "false", hidden: true, onclick: () => this.onlyDecided() },
      "decided only",
    );
    const hint = h("span", { class: "hint help" }, "Drag to zoom, click for the arm.");
    return h(
      "div",
      { class: "tools" },
      h("span", { class: "hints" }, this.beyond, " ", hint),
      this.alone,
      this.all,
      button("−", "Zoom out", () => this.zoom(2)),
      button("+", "Zoom in", () => this.zoom(0.5)),
    );
  }

  /** @returns {Omit<import("uplot").Options, "width" | "height">} */
  options() {
    return {
      legend: { show: false },
      padding: [8, Math.round(1.5 * rem()), 0, 0],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 5 } },
      scales: { x: { time: false, range: () => this.span() }, y: { range: () => this.range } },
      axes: [
        axis(count, {
          grid: { show: false },
          size: () => Math.round((this.isNamed() && this.span()[1] < this.layout.main + 1 ? 1.9 : 2.9) * rem()),
          splits: (u, _, from, to) => this.under(u, from, to).map(({ at }) => at),
          values: (u) => this.under(u, ...this.span()).map(({ text }) => text),
        }),
        axis(this.scale.tick, { size: () => axisWidth(this.scale.value, this.range) }),
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [
          (u) => {
            this.tellDrawn(paintIntervals(u, this));
            level(u, this.threshold, this.scale.line, false, this.free(u));
          },
        ],
        setSelect: [(u) => this.selected(u)],
        setCursor: [(u) => this.point(u)],
        ready: [(u) => this.mouse(u)],
      },
    };
  }

  /**
   * What is written under the arms: their names where there is room, otherwise how many each group has.
   * @param {import("./chart.js").Plot} u @param {number} from @param {number} to
   */
  under(u, from, to) {
    const room = u.bbox.width / devicePixelRatio / (to - from);
    const strip = this.layout.sections.filter(({ kind }) => kind === "few");
    const main = Math.min(to, this.layout.main + 0.5);
    if (!this.areNamed(room)) return this.groups(this.layout.sections, from, to, room);
    const ranks = Array.from({ length: Math.max(0, Math.floor(main) - Math.ceil(from) + 1) }, (_, i) => Math.ceil(from) + i);
    const names = ranks.map((at) => ({ at, text: this.rows[at - 1] ? fitting(nameOf(/** @type {Row} */ (this.rows[at - 1])), 0.92 * room) : "" }));
    return [...names, ...this.groups(strip, from, to, room)];
  }

  /**
   * How many arms each group in sight has, as far as there is room to say so.
   * @param {import("./layout.js").Section[]} sections @param {number} from @param {number} to @param {number} room in pixels per arm
   */
  groups(sections, from, to, room) {
    const words = { ...this.scale.kinds, few: "few samples" };
    let free = -Infinity;
    return sections.flatMap(({ kind, many, ...ends }) => {
      const [left, right] = [Math.max(ends.from, from), Math.min(ends.to, to)];
      if (left >= right) return [];
      const number = `${GLYPH[kind === "few" ? "open" : kind]} ${count(many)}`;
      for (const text of [`${number}\n${words[kind]}`, number]) {
        const half = Math.max(...text.split("\n").map(textWidth)) / 2 + 4;
        const at = (left + right) / 2;
        if ((at - from) * room - half < free) continue;
        free = (at - from) * room + half;
        return [{ at, text }];
      }
      return [];
    });
  }

  /** Whether arms in sight are named. */
  isNamed() {
    const [from, to] = this.span();
    const wide = this.made.box.clientWidth - 80;
    return this.areNamed(wide / (to - from));
  }

  /** Whether there is room to write the arms' names, or all of them are short. @param {number} room in pixels per arm */
  areNamed(room) {
    if (room > NAMED * rem()) return true;
    const [from, to] = this.span();
    const fits = (/** @type {Row} */ row) => fitting(nameOf(row), 0.92 * room) === nameOf(row);
    return room > SHORT * rem() && this.rows.slice(Math.ceil(from) - 1, Math.min(to, this.layout.main)).every(fits);
  }

  /** Where the words on the line end: above bad arms there is room, above the strip there may be none. @param {import("./chart.js").Plot} u */
  free(u) {
    const last = this.layout.sections.findLast(({ kind }) => kind !== "few");
    return last?.kind === "bad" ? u.valToPos(last.to, "x", true) : Infinity;
  }

  /** @param {number} every one arm in how many is drawn */
  tellDrawn(every) {
    if (every === this.drawn) return;
    this.drawn = every;
    this.tellBeyond();
  }

  /** @param {import("./chart.js").Plot} u */
  mouse(u) {
    u.over.addEventListener("mousedown", () => {
      this.dragged = false;
    });
    u.over.addEventListener("dblclick", () => this.reset());
    u.over.addEventListener("click", () => {
      const row = this.rows[this.at - 1];
      if (row && !this.dragged) this.open(row);
    });
  }

  /** @param {import("./chart.js").Plot} u */
  selected(u) {
    const { left, width } = u.select;
    if (width < 5) return;
    this.dragged = true;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.zoomTo(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
  }

  /** @returns {[number, number]} ranks in sight */
  span() {
    return this.zoomed ?? [0.5, this.layout.end];
  }

  /** @param {number} from @param {number} to */
  zoomTo(from, to) {
    const { end, main, step } = this.layout;
    const most = end - 0.5;
    const least = FEWEST * (from > main + 0.5 ? step : 1);
    const wide = Math.min(Math.max(to - from, least), most);
    const left = Math.min(Math.max((from + to - wide) / 2, 0.5), end - wide);
    this.zoomed = wide >= most ? null : /** @type {[number, number]} */ ([left, left + wide]);
    this.refresh();
  }

  /** Around the arm pointed at, or the middle. @param {number} factor */
  zoom(factor) {
    const [from, to] = this.span();
    const at = this.layout.place(this.at - 1);
    const centre = this.at && at >= from && at <= to ? at : (from + to) / 2;
    this.zoomTo(centre - ((to - from) * factor) / 2, centre + ((to - from) * factor) / 2);
  }

  reset() {
    this.zoomed = null;
    this.refresh();
  }

  /** Hide or show undecided arms. */
  onlyDecided() {
    this.decided = !this.decided;
    this.asked = true;
    this.zoomed = null;
    this.show(this.every);
  }

  hideTip() {
    this.tip.hidden = true;
  }

  /** @param {import("./chart.js").Plot} u */
  point(u) {
    const left = u.cursor.left ?? -1;
    if (left >= 0) this.choose(this.layout.at(u.posToVal(left, "x")) + 1);
    else if (document.activeElement !== this.slider) this.hideTip();
  }

  /** @param {number} rank from 1 */
  choose(rank) {
    const u = this.made.plot();
    this.at = Math.min(Math.max(rank, 1), this.rows.length);
    const row = this.rows[this.at - 1];
    if (!row || !u) return;
    this.slider.setAttribute("aria-valuenow", String(this.at));
    this.slider.setAttribute("aria-valuetext", `${count(this.at)}: ${describe(row, this.scale)}`);
    this.tip.replaceChildren(...tipLines(row, this.scale));
    this.tip.hidden = false;
    const x = u.valToPos(this.layout.place(this.at - 1), "x") + u.bbox.left / devicePixelRatio;
    const [wide, room] = [this.tip.offsetWidth, this.slider.clientWidth];
    const left = x + 14 + wide > room ? x - wide - 14 : x + 14;
    this.tip.style.transform = `translate(${Math.max(Math.min(left, room - wide), 0)}px, 8px)`;
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    const many = this.rows.length,
      page = Math.max(1, Math.round((this.span()[1] - this.span()[0]) / 10));
    /** @type {Record<string, number>} */
    const moves = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowUp: -1,
      ArrowDown: 1,
      PageDown: page,
      PageUp: -page,
      Home: -many,
      End: many,
    };
    const row = this.rows[this.at - 1],
      by = moves[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.slider) return;
    if (by !== undefined) this.move(by);
    else if (event.key === "+") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (event.key === "0" || event.key === "Escape") this.reset();
    else if (event.key === "Enter" && row) this.open(row);
    else return;
    event.preventDefault();
  }

  /** @param {number} by */
  move(by) {
    const to = Math.min(Math.max(this.at + by, 1), this.rows.length);
    const [from, until] = this.span();
    const place = this.layout.place(to - 1);
    if (place < from || place > until) this.zoomTo(place - (until - from) / 2, place + (until - from) / 2);
    this.choose(to);
    const u = this.made.plot();
    u?.setCursor({ left: u.valToPos(place, "x"), top: 10 }, false);
  }

  /** Arms in sight. */
  seen() {
    if (!this.zoomed) return this.rows;
    const [from, to] = this.zoomed;
    return this.rows.filter((_, i) => this.layout.place(i) >= from - 0.5 && this.layout.place(i) <= to + 0.5);
  }

  refresh() {
    if (this.all) this.all.hidden = !this.zoomed;
    this.range = domain(this.seen(), this.threshold, this.scale.bounded);
    this.tellBeyond();
    const { layout } = this;
    this.made.show([this.rows.map((_, i) => layout.place(i)), this.rows.map((row) => row.mean)]);
  }

  /** What the chart leaves out, in a line. */
  tellBeyond() {
    if (!this.beyond) return;
    const hidden = this.every.length - this.rows.length;
    const few = this.rows.length - this.layout.main;
    const strip = new Set(this.rows.slice(this.layout.main));
    const own = few ? this.seen().filter((row) => !strip.has(row)) : this.seen();
    const parts = [
      hidden && `${counted(hidden, "undecided arm")} not shown.`,
      few && `${counted(few, "arm")} ${few === 1 ? "has" : "have"} too few samples for an interval on this scale.`,
      goesOn(own, this.range, this.scale),
      this.drawn > 1 && `One arm in ${count(this.drawn)} is drawn.`,
    ];
    say(this.beyond, parts.filter(Boolean).join(" "));
  }

  /** @param {Row[]} every arm, in the order of the chart */
  show(every) {
    const isDecided = (/** @type {Row} */ row) => row.verdict !== "open";
    const decided = every.filter(isDecided).length;
    const some = every.length > MANY && decided > 0;
    if (!this.asked) this.decided = decided >= FEWEST && decided < LOST * every.length;
    this.decided &&= some;
    if (this.alone) this.alone.hidden = !some;
    this.alone?.setAttribute("aria-pressed", String(this.decided));
    this.every = every;
    const shown = this.decided ? every.filter(isDecided) : every;
    this.layout = new Layout(shown, domain(shown, this.threshold, this.scale.bounded));
    const rows = (this.rows = this.layout.rows);
    this.slider.setAttribute("aria-valuemax", String(Math.max(rows.length, 1)));
    const first = rows[0];
    if (!this.at && first) this.slider.setAttribute("aria-valuetext", `1: ${describe(first, this.scale)}`);
    this.refresh();
  }

  /** Arms outside the search turn pale. @param {(row: Row) => boolean} faded */
  fade(faded) {
    this.faded = faded;
    this.made.plot()?.redraw(false);
  }

  close() {
    this.made.close();
  }
}
