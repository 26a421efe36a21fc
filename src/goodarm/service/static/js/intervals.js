/** Every arm as an interval against the bar, sorted by mean: hovering or arrow keys name the arm, dragging zooms. */
import { axis, axisWidth, chart, fitting, level, rem } from "./chart.js";
import { clipped, domain } from "./domain.js";
import { h, say } from "./dom.js";
import { count, counted, isExact, metricWords } from "./format.js";
import { paintIntervals } from "./paint.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {ReturnType<typeof import("./format.js").scaleOf>} Scale */
const FEWEST = 5; // arms that a zoom leaves in sight
const NAMED = 5; // rem per arm from which its name is written under it
const SHORT = 2; // rem per arm from which names are written if all of them fit
const MANY = 60; // arms from which the decided ones can be shown alone
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

/** @param {Row} row */
export const nameOf = (row) => row.label || row.arm;

/** The mean and the interval, if there is one. @param {Row} row @param {Scale} scale */
const between = (row, scale) =>
  `${scale.value(row.mean)}, ` +
  (row.low === null
    ? "no interval"
    : isExact(row)
      ? "exact: no case is left"
      : `between ${scale.value(row.low)} and ${scale.value(row.high)}`);

/** @param {Row} row @param {Scale} scale */
export function describe(row, scale) {
  const pending = row.pending ? `, ${counted(row.pending, "ticket")} pending` : "";
  if (row.mean === null) return `${nameOf(row)}: no samples yet${pending}`;
  const where = `${scale.labels.estimate} ${between(row, scale)}`;
  return `${nameOf(row)}: ${scale.word(row)}, ${where}, ${counted(row.pulls, "sample")}${pending}`;
}

/** @param {Row} row @param {Scale} scale @returns {Node[]} */
function tipLines(row, scale) {
  return [
    h("strong", {}, h("bdi", {}, nameOf(row))),
    h("span", { class: `verdict ${row.verdict}` }, `${scale.glyph(row)} ${scale.word(row)}`),
    h("span", {}, row.mean === null ? "no samples yet" : between(row, scale)),
    ...(row.metrics ?? []).map((metric) => h("span", { class: metric.failed ? "bad" : "" }, h("bdi", {}, metricWords(metric)))),
    h("span", { class: "hint" }, counted(row.pulls, "sample") + (row.pending ? `, ${count(row.pending)} pending` : "")),
  ];
}

/** The intervals that are cut off, and their extent. @param {Row[]} rows @param {[number, number]} range @param {Scale} scale */
function goesOn(rows, range, scale) {
  const { above, below, highest, lowest } = clipped(rows, range);
  const parts = [
    above && `↑ ${counted(above, "interval")} ${above === 1 ? "goes" : "go"} on, up to ${scale.value(highest)}.`,
    below && `↓ ${counted(below, "interval")} ${below === 1 ? "goes" : "go"} on, down to ${scale.value(lowest)}.`,
  ];
  return parts.filter(Boolean).join(" ");
}

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
    this.element = h("div", { class: "intervals-box" }, this.slider, this.tools());
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
        axis((v) => (Number.isInteger(v) && v >= 1 ? count(v) : ""), {
          grid: { show: false },
          space: (_, __, from, to, wide) => (this.areNamed(wide / (to - from)) ? 0.95 * (wide / (to - from)) : 3.6 * rem()),
          values: (u, splits) => this.under(u, splits),
        }),
        axis(this.scale.tick, { size: () => axisWidth(this.scale.value, this.range) }),
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [
          (u) => {
            paintIntervals(u, this);
            level(u, this.threshold, this.scale.line);
          },
        ],
        setSelect: [(u) => this.selected(u)],
        setCursor: [(u) => this.point(u)],
        ready: [(u) => this.mouse(u)],
      },
    };
  }

  /** Labels under the arms: their names if there is room, otherwise their ranks. @param {import("./chart.js").Plot} u @param {number[]} splits */
  under(u, splits) {
    const [from, to] = this.span();
    const room = u.bbox.width / devicePixelRatio / (to - from);
    const named = this.areNamed(room);
    return splits.map((at) => {
      const row = Number.isInteger(at) ? this.rows[at - 1] : undefined;
      if (!row) return "";
      return named ? fitting(nameOf(row), 0.92 * room) : count(at);
    });
  }

  /** Whether there is room to write the arms' names, or all of them are short. @param {number} room in pixels per arm */
  areNamed(room) {
    if (room > NAMED * rem()) return true;
    const [from, to] = this.span();
    const fits = (/** @type {Row} */ row) => fitting(nameOf(row), 0.92 * room) === nameOf(row);
    return room > SHORT * rem() && this.rows.slice(Math.ceil(from) - 1, to).every(fits);
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
    return this.zoomed ?? [0.5, Math.max(this.rows.length, 1) + 0.5];
  }

  /** @param {number} from @param {number} to */
  zoomTo(from, to) {
    const most = Math.max(this.rows.length, 1);
    const wide = Math.min(Math.max(to - from, FEWEST), most);
    const left = Math.min(Math.max((from + to - wide) / 2, 0.5), most + 0.5 - wide);
    this.zoomed = wide >= most ? null : /** @type {[number, number]} */ ([left, left + wide]);
    this.refresh();
  }

  /** Around the arm pointed at, or the middle. @param {number} factor */
  zoom(factor) {
    const [from, to] = this.span();
    const centre = this.at >= from && this.at <= to ? this.at : (from + to) / 2;
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
    if (left >= 0) this.choose(Math.round(u.posToVal(left, "x")));
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
    const x = u.valToPos(this.at, "x") + u.bbox.left / devicePixelRatio;
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
    if (to < from || to > until) this.zoomTo(to - (until - from) / 2, to + (until - from) / 2);
    this.choose(to);
    const u = this.made.plot();
    u?.setCursor({ left: u.valToPos(to, "x"), top: 10 }, false);
  }

  refresh() {
    if (this.all) this.all.hidden = !this.zoomed;
    const [from, to] = this.span();
    const seen = this.zoomed ? this.rows.slice(Math.max(0, Math.floor(from) - 1), Math.ceil(to)) : this.rows;
    this.range = domain(seen, this.threshold, this.scale.bounded);
    const hidden = this.every.length - this.rows.length;
    const left = hidden ? `${counted(hidden, "undecided arm")} not shown. ` : "";
    if (this.beyond) say(this.beyond, left + goesOn(seen, this.range, this.scale));
    this.made.show([this.rows.map((_, i) => i + 1), this.rows.map((row) => row.mean)]);
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
    const rows = this.decided ? every.filter(isDecided) : every;
    this.rows = rows;
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
