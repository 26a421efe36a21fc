/** One campaign: the headline in words, every arm against the bar, what happened, and the table. */
import { get, post, url } from "./api.js";
import { headline, learned, strip, subline } from "./bar.js";
import { domain } from "./domain.js";
import { announce, byId, h, say } from "./dom.js";
import { count, counted, scaleOf, timeOfDay } from "./format.js";
import { IntervalChart } from "./intervals.js";
import { Stream } from "./live.js";
import { OverTime } from "./over_time.js";
import { mayWrite } from "./rights.js";
import { Selection } from "./selection.js";
import { latest, waiting } from "./side.js";
import { SimulatedBanner } from "./simulated.js";
import { ArmTable } from "./table.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./types.js").Summary} Summary */
/** @typedef {import("./types.js").Change} Change */
const REDRAW = 200; // ms between two drawings of the charts, more where drawing takes long
const SHARE = 0.15; // of the browser's time that drawing may take
const REORDER = 1_000;
const REFRESH = 5_000; // what no event tells: tickets that become overdue, a better guess of what is left

/** @param {string} name @param {{arm: string}} row */
const armHref = (name, row) => `#/campaign/${encodeURIComponent(name)}/arm/${encodeURIComponent(row.arm)}`;
const OLDEST = 1_000; // waiting tickets that are looked at

/** "live", or since when what you see is old. @param {import("./live.js").State} state */
export function showLive({ live, since }) {
  const box = byId("live");
  box.className = live ? "live on" : "live off";
  say(
    box,
    live ? "live" : `not connected since ${timeOfDay(since ?? new Date())}: what you see may be old; reconnecting`,
  );
}

/** @param {string} name @returns {Promise<import("./types.js").View>} */
export async function campaignView(name) {
  const rest = Promise.all([get(url(name, "/verdicts")), get(url(name, "/progress"))]);
  rest.catch(() => {}); // looked at below, unless there is no such campaign
  /** @type {Summary} */
  const summary = await get(url(name));
  const note = h("p", { class: "hint", role: "status" }, `Fetching ${counted(summary.arms, "arm")}…`);
  const element = h("div", { class: "campaign-page" }, h("div", { class: "words" }, ...words(summary)), note);
  let page = /** @type {CampaignPage | null} */ (null);
  let closed = false;
  rest.then(
    ([verdicts, progress]) => {
      if (closed) return;
      page = new CampaignPage(summary, verdicts.arms);
      element.replaceChildren(...page.parts);
      page.over.show(progress.points);
      page.listen(verdicts.number);
    },
    (error) => {
      note.className = "problem";
      say(note, error instanceof Error ? error.message : String(error));
    },
  );
  const close = () => {
    closed = true;
    page?.close();
  };
  return { element, close };
}

/** The headline, what it took and will take, and the strip. @param {Summary} summary */
const words = (summary) => [
  headline(summary, "h1"),
  h("p", { class: "subline" }, subline(summary)),
  ...learned(summary),
  strip(summary),
];

class CampaignPage {
  /** @param {Summary} summary @param {Row[]} rows */
  constructor(summary, rows) {
    const { name, threshold } = summary;
    this.summary = summary;
    this.rows = new Map(rows.map((row) => [row.arm, row]));
    this.scale = scaleOf(summary);
    this.words = h("div", { class: "words" });
    this.chart = new IntervalChart(threshold, this.scale, (row) => {
      location.hash = armHref(name, row);
    });
    this.over = new OverTime();
    this.latest = latest(this.scale, (row) => armHref(name, row));
    this.waiting = waiting(
      this.scale.bounded,
      (arm) => armHref(name, { arm }),
      (arm) => this.rows.get(arm)?.label || arm,
    );
    this.simulation = new SimulatedBanner(summary);
    this.selection = new Selection(() => this.order(), this.scale);
    this.table = new ArmTable({ threshold, scale: this.scale, href: (row) => armHref(name, row) }, (key) =>
      this.selection.sortBy(key),
    );
    this.parts = this.layout();
    this.timer = 0;
    this.ordered = 0;
    this.cost = 0;
    this.stream = /** @type {Stream | null} */ (null);
    this.clock = setInterval(() => void this.refresh(), REFRESH);
    this.order();
    this.draw();
    void this.lookAtWaiting();
  }

  layout() {
    const card = (
      /** @type {string} */ kind,
      /** @type {string} */ title,
      /** @type {import("./dom.js").Child[]} */ ...inside
    ) =>
      h(
        "section",
        { class: `card ${kind}`, "aria-label": title },
        h("div", { class: "row" }, h("h2", {}, title), ...inside.slice(1)),
        inside[0],
      );
    const legend = h(
      "p",
      { class: "legend", "aria-hidden": "true" },
      ...Object.entries(this.scale.kinds).map(([kind, word]) => h("span", { class: kind }, word)),
    );
    return [
      this.words,
      this.simulation.element,
      h(
        "div",
        { class: "grid" },
        card("wide", `Every arm against ${this.scale.labels.against}`, this.chart.element, legend),
        card("", "Verdicts over time", h("div", {}, this.over.element, h("p", { class: "axis-name" }, "samples"))),
        card("", "Latest verdicts", this.latest.element),
        card("", "Waiting tickets", this.waiting.element),
        h(
          "section",
          { class: "card wide table-card", "aria-label": "Arms" },
          h("h2", {}, "Arms"),
          this.selection.element,
          this.table.element,
          this.actions(),
        ),
      ),
    ];
  }

  actions() {
    const link = (/** @type {string} */ format, /** @type {string} */ text) =>
      h(
        "a",
        {
          class: "button",
          href: url(this.summary.name, `/export?format=${format}`),
          download: `${this.summary.name}.${format}`,
        },
        text,
      );
    const close =
      mayWrite() &&
      !this.summary.ended &&
      h("button", { type: "button", class: "quiet", onclick: () => this.end() }, "Close campaign");
    return h("div", { class: "actions" }, link("jsonl", "Export JSON Lines"), link("parquet", "Parquet"), close);
  }

  async end() {
    if (!confirm("Close this campaign? Nothing more is asked; what is out may still be told. Verdicts and journal stay.")) return;
    this.summary = await post(url(this.summary.name, "/end"));
    this.draw();
  }

  /** @param {number} from journal number of what is shown */
  listen(from) {
    this.stream = new Stream(url(this.summary.name, "/events"), from, (change) => this.apply(change), showLive);
  }

  async refresh() {
    if (document.hidden) return;
    /** @type {Summary | null} */
    const fresh = await get(url(this.summary.name)).catch(() => null);
    if (!fresh || fresh.number < this.summary.number) return;
    Object.assign(this.summary, fresh);
    void this.lookAtWaiting();
    this.timer ||= window.setTimeout(() => this.draw(), REDRAW);
  }

  /** Which tickets are out, and since when. */
  async lookAtWaiting() {
    if (!this.summary.pending) return;
    const found = await get(url(this.summary.name, `/waiting?limit=${OLDEST}`)).catch(() => null);
    if (found) this.waiting.list(found.tickets);
  }

  /** @param {Change} change */
  apply({ arms, ...figures }) {
    const before = this.rows;
    const fresh = arms.filter((row) => row.verdict !== "open" && before.get(row.arm)?.verdict === "open");
    for (const row of arms) before.set(row.arm, { ...before.get(row.arm), ...row });
    Object.assign(this.summary, figures);
    this.summary.arms = Math.max(this.summary.arms, before.size - this.summary.question.references.length);
    this.over.add({ ...figures, at: new Date().toISOString() });
    if (fresh.length) {
      const good = fresh.filter((row) => row.verdict === "good").length;
      const [yes, no] = [this.scale.kinds.good, this.scale.kinds.bad];
      announce(`${counted(fresh.length, "new verdict")}: ${count(good)} ${yes}, ${count(fresh.length - good)} ${no}`);
    }
    this.timer ||= window.setTimeout(() => this.draw(), Math.max(REDRAW, this.cost / SHARE));
  }

  draw() {
    this.timer = 0;
    const started = performance.now();
    queueMicrotask(() =>
      queueMicrotask(() => {
        this.cost = performance.now() - started;
      }),
    ); // after uPlot's own
    this.words.replaceChildren(...words(this.summary));
    const rows = [...this.rows.values()];
    const ranked = rows.sort((a, b) => (b.mean ?? -Infinity) - (a.mean ?? -Infinity));
    this.chart.show(ranked.filter((row) => !this.scale.isReference(row)));
    this.over.draw();
    this.latest.show(rows);
    this.waiting.show(this.summary, rows);
    this.simulation.show(rows);
    if (performance.now() - this.ordered > REORDER && !this.table.busy) this.order();
    else
      this.table.show(
        this.shown.map((row) => this.rows.get(row.arm) ?? row),
        this.range(),
      );
  }

  range() {
    return domain([...this.rows.values()], this.summary.threshold, this.scale.bounded, true);
  }

  /** Filter and sort anew. */
  order() {
    this.ordered = performance.now();
    this.shown = this.selection.of([...this.rows.values()]);
    this.table.show(this.shown, this.range());
    this.table.showSort(this.selection.key, this.selection.down);
    this.chart.fade((row) => !this.selection.matches(row));
  }

  /** @type {Row[]} */
  shown = [];

  close() {
    this.stream?.close();
    clearTimeout(this.timer);
    clearInterval(this.clock);
    for (const part of [this.chart, this.over, this.table, this.simulation]) part.close();
  }
}
