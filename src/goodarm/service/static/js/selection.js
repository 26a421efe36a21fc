/** Search, filter and sort of the arms. */
import { h, say } from "./dom.js";
import { count } from "./format.js";
import { nameOf } from "./described.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./table.js").SortKey} SortKey */
const RANK = { good: 0, open: 1, bad: 2 };
const FILTERS = ["all", "good", "open", "bad"];
const collator = new Intl.Collator(undefined, { numeric: true });

/** @type {Record<SortKey, (a: Row, b: Row) => number>} */
const COMPARE = {
  name: (a, b) => collator.compare(nameOf(b), nameOf(a)),
  verdict: (a, b) => RANK[b.verdict] - RANK[a.verdict] || (a.mean ?? -Infinity) - (b.mean ?? -Infinity),
  mean: (a, b) => (a.mean ?? -Infinity) - (b.mean ?? -Infinity),
  lift: (a, b) => (a.mean ?? -Infinity) - (b.mean ?? -Infinity), // the same order: the baseline is the same
  own: (a, b) => (a.own_mean ?? -Infinity) - (b.own_mean ?? -Infinity),
  low: (a, b) => (a.low ?? -Infinity) - (b.low ?? -Infinity),
  cost: (a, b) => (a.cost ?? 1) - (b.cost ?? 1),
  pulls: (a, b) => a.pulls - b.pulls,
  pending: (a, b) => a.pending - b.pending,
};

export class Selection {
  /** @param {() => void} changed @param {import("./intervals.js").Scale} scale */
  constructor(changed, scale) {
    this.scale = scale;
    this.changed = changed;
    this.query = "";
    this.filter = "all";
    this.key = /** @type {SortKey} */ ("verdict"); // the order of the chart
    this.down = true;
    this.found = h("span", { class: "hint found", role: "status" });
    const search = h("input", {
      type: "search",
      placeholder: "Search arms",
      "aria-label": "Search arms",
      oninput: () => {
        this.query = search.value.trim().toLocaleLowerCase();
        changed();
      },
    });
    const buttons = FILTERS.map((filter) =>
      h(
        "button",
        { type: "button", "aria-pressed": String(filter === "all"), onclick: () => this.choose(filter, buttons) },
        filter in scale.kinds ? scale.kinds[/** @type {"good"} */ (filter)] : filter,
      ),
    );
    this.element = h(
      "div",
      { class: "selection" },
      search,
      h("div", { class: "segments", role: "group", "aria-label": "Verdict" }, ...buttons),
      this.found,
    );
  }

  /** @param {string} filter @param {HTMLElement[]} buttons */
  choose(filter, buttons) {
    this.filter = filter;
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(FILTERS[i] === filter)));
    this.changed();
  }

  /** A second click on a heading reverses the order. @param {SortKey} key */
  sortBy(key) {
    this.down = this.key === key ? !this.down : true;
    this.key = key;
    this.changed();
  }

  /** @param {Row} row */
  matches(row) {
    if (this.filter !== "all" && (row.verdict !== this.filter || this.scale.isReference(row))) return false;
    return (
      !this.query ||
      nameOf(row).toLocaleLowerCase().includes(this.query) ||
      row.arm.toLocaleLowerCase().includes(this.query)
    );
  }

  /** @param {Row[]} rows */
  of(rows) {
    const compare = COMPARE[this.key],
      sign = this.down ? -1 : 1;
    const chosen = rows.filter((row) => this.matches(row));
    const last = (/** @type {Row} */ row) => Number(this.key === "verdict" && this.scale.isReference(row)); // or first, if down
    say(this.found, chosen.length === rows.length ? "" : `${count(chosen.length)} of ${count(rows.length)}`);
    return chosen.sort((a, b) => sign * (last(a) - last(b) || compare(a, b)) || collator.compare(a.arm, b.arm));
  }
}
