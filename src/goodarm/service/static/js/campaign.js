/** One campaign: its title, the headline in words, the next step, every arm against the bar, and the table. */
import { get, post, url } from "./api.js";
import { headline, learned, strip, subline, terms, titleOf } from "./bar.js";
import { connect } from "./connect.js";
import { nameOf } from "./described.js";
import { domain } from "./domain.js";
import { announce, byId, h, say, term } from "./dom.js";
import { Forecast } from "./forecast.js";
import { count, counted, scaleOf, timeOfDay } from "./format.js";
import { IntervalChart, ranked } from "./intervals.js";
import { Stream } from "./live.js";
import { PENDING, UNDECIDED } from "./meanings.js";
import { WhatNow } from "./now.js";
import { OverTime } from "./over_time.js";
import { Selection } from "./selection.js";
import { latest, pending } from "./side.js";
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
const NARROW = 0.1; // more scale on a phone, so that a mean and the arrow at the end stay apart
const OLDEST = 1_000; // pending tickets that are looked at
const narrow = matchMedia("(max-width: 48rem)");

/** "live", or the time of the last update. @param {import("./live.js").State} state */
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

/** @param {Summary} summary */
function estimated(summary) {
  const forecast = new Forecast();
  forecast.note(summary);
  return forecast;
}

/** The title, what is asked, the headline, what it took, and the strip. @param {Summary} summary */
const words = (summary) => [
  h("h1", {}, h("bdi", {}, titleOf(summary))),
  terms(summary),
  headline(summary),
  subline(summary),
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
    this.jump = h("button", { type: "button", class: "jump", onclick: () => this.goToNow() });
    this.chart = new IntervalChart(threshold, this.scale, (row) => {
      location.hash = armHref(name, row);
    });
    this.over = new OverTime(this.scale.kinds);
    this.forecast = estimated(summary);
    this.now = new WhatNow(summary, this.scale, (row) => armHref(name, row), () => void this.end());
    this.latest = latest(this.scale, (row) => armHref(name, row));
    this.pending = pending(
      this.scale.bounded,
      (arm) => armHref(name, { arm }),
      (arm) => this.rows.get(arm)?.label || arm,
    );
    this.simulation = new SimulatedBanner(summary);
    this.selection = new Selection(() => this.order(), this.scale);
    const baseline = () => this.rows.get(summary.question.references[0] ?? "")?.own_mean ?? null;
    const priced = rows.some(({ cost }) => (cost ?? 1) !== 1);
    const about = { threshold, scale: this.scale, href: (/** @type {Row} */ row) => armHref(name, row), baseline, priced };
    this.table = new ArmTable(about, (key) => this.selection.sortBy(key));
    this.parts = this.layout();
    narrow.addEventListener("change", this.arrange);
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
      { class: "legend" },
      ...Object.entries(this.scale.kinds).map(([kind, word]) =>
        h("span", { class: kind }, kind === "open" ? term(word, UNDECIDED) : word),
      ),
    );
    const table = h(
      "section",
      { class: "card wide table-card", "aria-label": "Arms" },
      h("h2", {}, "Arms"),
      this.selection.element,
      this.table.element,
    );
    this.connect = connect(this.summary);
    this.baseline = h("p", { class: "hint baseline" });
    const drawn = h("div", { class: "drawing" }, this.baseline, this.chart.element);
    const first = card("chart", `Every arm against ${this.scale.labels.against}`, drawn, legend);
    this.cards = {
      connect: this.connect,
      chart: first,
      now: card("now-card", "What now", this.now.element),
      table,
      over: card("", "Verdicts over time", h("div", {}, this.over.element, h("p", { class: "axis-name" }, "samples"))),
      latest: card("", "Latest verdicts", this.latest.element),
      pending: card("", "Pending tickets", this.pending.element, term("what is that?", PENDING)),
      exports: card("wide exports", "Data", this.exports()),
    };
    this.grid = h("div", { class: "grid" });
    this.arrange();
    return [this.words, this.jump, this.simulation.element, this.grid];
  }

  /** On a phone "What now" lies below the table. */
  goToNow() {
    const { now } = this.cards ?? {};
    now?.scrollIntoView();
    now?.setAttribute("tabindex", "-1");
    now?.focus({ preventScroll: true });
  }

  /** Before the first sample there is nothing to draw: the page says how to feed the campaign. */
  hideEmpty() {
    const fresh = this.summary.told === 0;
    const { chart, over, latest, pending } = this.cards ?? {};
    for (const card of [chart, over, latest]) if (card) card.hidden = fresh;
    if (pending) pending.hidden = fresh && !this.summary.pending;
    this.grid?.classList.toggle("fresh", fresh);
    if (this.connect) this.connect.hidden = !fresh || this.summary.ended || this.simulation.by !== null;
  }

  /** On a phone the table comes directly below the headline. */
  arrange = () => {
    const { connect, chart, now, table, ...rest } = this.cards ?? {};
    const order = narrow.matches ? [connect, table, now, chart] : [connect, chart, now, table];
    this.grid?.replaceChildren(...[...order, ...Object.values(rest)].filter((card) => card !== undefined));
  };

  exports() {
    const link = (/** @type {string} */ path, /** @type {string} */ kind, /** @type {string} */ text) =>
      h(
        "a",
        { class: "button", href: url(this.summary.name, path), download: `${this.summary.name}${kind}` },
        text,
      );
    return h(
      "div",
      { class: "actions" },
      link("/verdicts.csv", " verdicts.csv", "Verdicts as CSV"),
      link("/export?format=jsonl", ".jsonl", "Journal as JSON Lines"),
      link("/export?format=parquet", ".parquet", "Journal as Parquet"),
    );
  }

  async end() {
    if (!confirm("End this campaign? It asks for no more samples. Rewards of pending tickets may still be told. Verdicts and journal stay.")) return;
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
    this.forecast.note(fresh);
    void this.lookAtWaiting();
    this.timer ||= window.setTimeout(() => this.draw(), REDRAW);
  }

  /** The outstanding tickets and their age. */
  async lookAtWaiting() {
    if (!this.summary.pending) return;
    const found = await get(url(this.summary.name, `/waiting?limit=${OLDEST}`)).catch(() => null);
    if (found) this.pending.list(found.tickets);
  }

  /** @param {Change} change */
  apply({ arms, ...figures }) {
    const before = this.rows;
    const fresh = arms.filter((row) => row.verdict !== "open" && before.get(row.arm)?.verdict === "open");
    for (const row of arms) before.set(row.arm, { ...before.get(row.arm), ...row });
    Object.assign(this.summary, figures);
    if (figures.remaining !== undefined) this.forecast.note(this.summary);
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
    const rows = ranked([...this.rows.values()]);
    this.hideEmpty();
    this.chart.show(rows.filter((row) => !this.scale.isReference(row)));
    const control = this.rows.get(this.summary.question.references[0] ?? "");
    if (this.baseline && control)
      say(this.baseline, this.controlWords(control));
    this.now.show(this.summary, rows, this.forecast, this.over.points);
    const many = this.now.good.length;
    say(this.jump, `What now? ${many ? `Use ${counted(many, "arm")}` : "No arm is certain yet"} ↓`);
    this.over.draw();
    this.latest.show(rows);
    this.pending.show(this.summary, rows);
    void this.simulation.show();
    if (performance.now() - this.ordered > REORDER && !this.table.busy) this.order();
    else
      this.table.show(
        this.shown.map((row) => this.rows.get(row.arm) ?? row),
        this.range(),
      );
  }

  /** The control's own mean, and the comparison on a fixed test set. @param {Row} control */
  controlWords(control) {
    const words = `◆ Control ${nameOf(control)}: ${this.scale.own(control.own_mean)} after ${counted(control.pulls, "sample")}.`;
    return this.summary.cases ? `${words} A difference compares the cases that both have answered.` : words;
  }

  range() {
    const [low, high] = domain([...this.rows.values()], this.summary.threshold, this.scale.bounded, true);
    return /** @type {[number, number]} */ ([low, narrow.matches ? high + NARROW * (high - low) : high]);
  }

  /** Filter and sort again. */
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
    narrow.removeEventListener("change", this.arrange);
    for (const part of [this.chart, this.over, this.table, this.simulation]) part.close();
  }
}
