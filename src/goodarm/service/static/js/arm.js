/** One arm: its interval over time, its evidence and the deciding line, and the audit of its verdict. */
import { get, post, url } from "./api.js";
import { evidenceChart, pathChart } from "./arm_charts.js";
import { auditOf } from "./audit.js";
import { learned } from "./bar.js";
import { showLive } from "./campaign.js";
import { byId, h, say, term } from "./dom.js";
import { count, counted, decimal, evidence, fullTime, isCertain, lift, percent, scaleOf, shareWriter } from "./format.js";
import { nameOf } from "./described.js";
import { Stream } from "./live.js";
import { ESTIMATE, EVIDENCE, INTERVAL } from "./meanings.js";
import { mayWrite } from "./rights.js";
import { simulatedBy } from "./simulate.js";
import { relative } from "./table_row.js";

/** @typedef {import("./types.js").ArmDetail} ArmDetail */
/** @typedef {import("./intervals.js").Scale} Scale */
/** @typedef {import("./types.js").Summary} Summary */
/** @typedef {import("./types.js").Change} Change */
const REFRESH = 1_000;

/** The arm in one sentence. @param {ArmDetail} arm @param {Scale} scale @param {number} threshold */
function sentence(arm, scale, threshold) {
  const price = (arm.cost ?? 1) === 1 ? "" : ` A sample costs ${decimal(arm.cost)}.`;
  const pending = `${arm.pending ? ` ${counted(arm.pending, "ticket")} pending.` : ""}${price}`;
  if (arm.mean === null) return `No samples yet.${pending}`;
  const between = arm.low === null ? "without an interval" : `between ${scale.value(arm.low)} and ${scale.value(arm.high)}`;
  if (scale.isReference(arm))
    return `The ${scale.word(arm)}, which all others are compared with: mean ${scale.own(arm.own_mean)} after ${counted(arm.pulls, "sample")}.${pending}`;
  const what = scale.labels.measured;
  const where = `${what} ${scale.value(arm.mean)}${base(arm, scale)} after ${counted(arm.pulls, "sample")}, ${between}`;
  const bar = arm.metrics?.length ? "a bar" : `the ${scale.labels.bar} of ${scale.amount(threshold)}`;
  const still =
    arm.needed !== null && arm.evidence !== null
      ? isCertain(arm.evidence)
        ? "; certain"
        : `; evidence ${evidence(arm.evidence)} of ${evidence(arm.needed)} needed`
      : "";
  if (arm.verdict === "open") return `${where}${arm.low === null ? "" : `; ${bar} lies inside`}${still}.${pending}`;
  const decided = `Decided ${fullTime(arm.decided_at)}, ${arm.guarantee ?? "no guarantee"}.`;
  const side = arm.verdict === "good" ? "above" : "below";
  if (arm.metrics?.length) return `${where}; ${arm.failed ? `${arm.failed} fails its bar` : "every bar is cleared"}. ${decided}${pending}`;
  return `${where}, ${side} ${bar}. ${decided}${pending}`;
}

/** Own mean, baseline and relative lift behind a difference. @param {ArmDetail} arm @param {Scale} scale */
function base({ mean, own_mean }, scale) {
  if (!scale.compared || mean === null || own_mean === null) return "";
  const baseline = own_mean - mean;
  const times = relative(mean, baseline);
  const change = times === null ? "" : `, ${lift(times)} relative`;
  return ` (${scale.own(own_mean)} against ${scale.own(baseline)}${change})`;
}

/** The charts' numbers, for screen readers. @param {ArmDetail} arm @param {Scale} scale */
function numbers(arm, scale) {
  const every = Math.max(1, Math.ceil(arm.path.length / 50));
  const points = arm.path.filter((_, i) => i % every === 0 || i === arm.path.length - 1);
  const head = ["samples", "mean", "low", "high", `evidence that it is ${scale.kinds.good}`, scale.kinds.bad].map((text) =>
    h("th", { scope: "col" }, text),
  );
  const body = points.map((p) =>
    h(
      "tr",
      {},
      ...[
        count(p.pulls),
        scale.value(p.mean),
        scale.value(p.low),
        scale.value(p.high),
        evidence(p.for_good),
        evidence(p.for_bad),
      ].map((text) => h("td", {}, text)),
    ),
  );
  return h(
    "details",
    {},
    h("summary", {}, "The numbers"),
    h(
      "div",
      { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "The numbers" },
      h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)),
    ),
  );
}

/** The position of a metric's interval. @param {import("./types.js").Metric} metric @param {import("./types.js").Verdict} verdict @returns {[string, string]} class and words */
function stateOf({ bar, low, high, failed }, verdict) {
  if (failed) return ["bad", "▼ fails"];
  if (verdict === "good") return ["good", "▲ clears"];
  return ["open", low === null || high === null || (low <= bar && bar <= high) ? "○ undecided" : "clear of the bar"];
}

/** @param {import("./types.js").Metric[]} metrics @param {import("./types.js").Verdict} verdict */
function metricTable(metrics, verdict) {
  const head = ["metric", "state", "bar", "mean", "interval", "evidence"].map((text) => h("th", { scope: "col" }, text));
  const rows = metrics.map((each) => {
    const { metric, bar, at_least, mean, low, high, evidence: found } = each;
    const write = shareWriter(bar);
    const [kind, state] = stateOf(each, verdict);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("bdi", {}, metric)),
      h("td", { class: kind }, state),
      ...[
        `${at_least ? "at least" : "at most"} ${percent(bar, 3)}`,
        write(mean),
        low === null || high === null ? "–" : `${write(low)} to ${write(high)}`,
        evidence(found),
      ].map((text) => h("td", {}, text)),
    );
  });
  const table = h("table", { class: "metrics" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
  return h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Metrics" }, table);
}

/** @param {string} name @param {string} id @returns {Promise<import("./types.js").View>} */
export async function armView(name, id) {
  const path = url(name, `/arms/${encodeURIComponent(id)}`);
  /** @type {[Summary, ArmDetail]} */
  const [summary, arm] = await Promise.all([get(url(name)), get(path)]);
  const page = new ArmPage(summary, arm, path);
  return { element: page.element, close: () => page.close() };
}

class ArmPage {
  /** @param {Summary} summary @param {ArmDetail} arm @param {string} path */
  constructor(summary, arm, path) {
    this.summary = summary;
    this.path = path;
    this.arm = arm;
    this.scale = scaleOf(summary);
    this.words = h("div", { class: "words" });
    this.audit = h("div");
    this.metrics = h("div");
    this.numbers = h("div");
    // If other arms matter, only the history of the arm's own mean is known.
    const { question } = summary;
    const own = scaleOf({ ...summary, question: { ...question, labels: { ...question.labels, measured: "Mean", signed: false } } });
    this.ownAxis = own.axis;
    this.interval = this.scale.compared ? pathChart(null, own) : pathChart(summary.threshold, this.scale);
    this.evidence = evidenceChart(this.scale.kinds);
    this.timer = 0;
    const crumb = byId("crumbs").lastElementChild?.querySelector("bdi");
    if (crumb) say(crumb, nameOf(arm)); // the address has the id, people know the label
    this.element = this.layout();
    this.draw();
    this.stream = new Stream(url(summary.name, "/events"), summary.number, (change) => this.apply(change), showLive);
  }

  layout() {
    const card = (/** @type {string} */ title, /** @type {import("./dom.js").Child[]} */ ...inside) =>
      h("section", { class: "card", "aria-label": title }, h("h2", {}, title), ...inside);
    const band = h(
      "p",
      { class: "legend lines" },
      h("span", { class: "mean" }, term("mean", ESTIMATE.mean)),
      this.scale.compared ? "" : h("span", { class: "band" }, term("interval", INTERVAL)),
    );
    const yName = (/** @type {string} */ text) => h("p", { class: "axis-name up" }, text);
    const axisName = () => h("p", { class: "axis-name" }, "samples of this arm");
    const lines = h(
      "p",
      { class: "legend lines" },
      h("span", { class: "good" }, `that it is ${this.scale.kinds.good}`),
      h("span", { class: "bad" }, `that it is ${this.scale.kinds.bad}`),
      term("what is evidence?", EVIDENCE),
    );
    this.metricsCard = card("Every metric against its bar", this.metrics);
    this.evidenceCard = card("Evidence, and the line that decides", yName("Evidence, a logarithm"), this.evidence.element, axisName(), lines, this.evidence.note);
    const overTime = this.scale.compared ? "Its own mean over time" : "Its interval over time";
    this.intervalCard = card(overTime, yName(this.scale.compared ? this.ownAxis : this.scale.axis), this.interval.element, axisName(), band, this.interval.note);
    this.numbersCard = card("As a table", this.numbers);
    return h(
      "div",
      { class: "arm-page" },
      this.words,
      h(
        "div",
        { class: "grid pair" },
        this.intervalCard,
        this.evidenceCard,
        this.metricsCard,
        card("Audit", this.audit),
        this.numbersCard,
      ),
    );
  }

  /** @param {Change} change */
  apply(change) {
    const mine = change.arms.find((row) => row.arm === this.arm.arm);
    if (mine && !this.timer) this.timer = window.setTimeout(() => void this.refresh(), REFRESH);
  }

  async refresh() {
    this.timer = 0;
    const fresh = await get(this.path).catch(() => null);
    if (fresh) this.arm = fresh;
    this.draw();
  }

  draw() {
    const { arm, scale, summary } = this;
    this.words.replaceChildren(
      h(
        "p",
        { class: `verdict big ${arm.verdict}` },
        `${scale.glyph(arm)} ${scale.full(arm)}`,
        arm.state && arm.state !== "active" ? ` · ${arm.state}` : "",
        simulatedBy(summary) ? " · simulated rewards" : "",
      ),
      h("h1", {}, h("bdi", {}, nameOf(arm))),
      arm.label && arm.label !== arm.arm ? h("p", { class: "hint" }, "id ", h("code", {}, arm.arm)) : "",
      h("p", { class: "subline" }, sentence(arm, scale, summary.threshold)),
      ...learned(arm),
      this.buttons(),
    );
    this.interval.show(arm.path);
    this.evidence.show(arm.path, arm.needed);
    if (this.evidenceCard) this.evidenceCard.hidden = arm.path.length > 0 && arm.path.every((p) => p.for_good === null);
    const bare = arm.path.length > 0 && arm.path.every((p) => p.mean === null); // with several bars no history is kept
    for (const each of [this.intervalCard, this.numbersCard]) if (each) each.hidden = bare;
    if (this.metricsCard) this.metricsCard.hidden = !arm.metrics?.length;
    this.metrics.replaceChildren(metricTable(arm.metrics ?? [], arm.verdict));
    this.audit.replaceChildren(
      ...(arm.audit
        ? auditOf({ ...arm.audit, verdict: scale.full(arm) }, scale, arm)
        : [
            h(
              "p",
              { class: "hint" },
              "No verdict yet. Once there is one, the data behind it are shown here and kept in the journal.",
            ),
          ]),
    );
    if (!this.numbers.querySelector("details[open]")) this.numbers.replaceChildren(numbers(arm, scale));
  }

  buttons() {
    if (!mayWrite() || this.summary.ended || this.arm.verdict !== "open") return "";
    const act = (/** @type {string} */ verb, /** @type {string} */ text, /** @type {string} */ question) =>
      h(
        "button",
        {
          type: "button",
          onclick: async () => {
            if (question && !confirm(question)) return;
            await post(url(this.summary.name, `/${verb}`), { arm: this.arm.arm }).catch((error) =>
              alert(error.message),
            );
            await this.refresh();
          },
        },
        text,
      );
    const state = this.arm.state ?? "active";
    if (state === "retired") return "";
    return h(
      "div",
      { class: "actions" },
      state === "suspended" ? act("resume", "Resume", "") : act("suspend", "Suspend", ""),
      act("retire", "Retire", "Retire this arm? It will never be asked for again."),
    );
  }

  close() {
    this.stream.close();
    clearTimeout(this.timer);
    this.interval.close();
    this.evidence.close();
  }
}
