/** "What now": take the good arms, keep running, or end. */
import { url } from "./api.js";
import { copyButton, h, say } from "./dom.js";
import { outlook } from "./forecast.js";
import { count, counted, upper } from "./format.js";
import { nameOf } from "./described.js";
import { mayWrite } from "./rights.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./types.js").Summary} Summary */
const NAMED = 5; // good arms that are named

export class WhatNow {
  /**
   * @param {Summary} summary @param {import("./intervals.js").Scale} scale @param {(row: Row) => string} href
   * @param {() => void} end
   */
  constructor(summary, scale, href, end) {
    this.scale = scale;
    this.href = href;
    this.good = /** @type {Row[]} */ ([]);
    this.words = h("p", { class: "answer" });
    this.late = h("p", { class: "problem" });
    this.list = h("ol", { class: "feed" });
    this.rest = h("p", { class: "hint" });
    const names = () => this.good.map(nameOf).join("\n");
    const csv = { class: "button", href: url(summary.name, "/verdicts.csv?only=good"), download: `${summary.name}, ${scale.kinds.good}.csv` };
    this.take = h("div", { class: "actions" }, copyButton("Copy the names", names), h("a", csv, "As CSV"));
    this.keep = h("p", {});
    this.stop = h("div", { class: "ending" }, h("p", { class: "hint" }, "Enough? Verdicts and journal stay."), h("button", { type: "button", class: "quiet", onclick: end }, "End the campaign"));
    this.element = h("div", { class: "now" }, this.words, this.late, this.list, this.rest, this.take, this.keep, this.stop);
  }

  /** @param {Summary} summary @param {Row[]} ranked in the order of the chart @param {import("./forecast.js").Forecast} forecast @param {import("./types.js").ProgressPoint[]} points */
  show(summary, ranked, forecast, points) {
    this.good = ranked.filter((row) => row.verdict === "good" && !this.scale.isReference(row));
    const many = this.good.length;
    say(this.words, many ? `Use the ${many === 1 ? "arm" : `${count(many)} arms`} ${this.scale.above}.` : `No arm is certain to be ${this.scale.above}${summary.open && !summary.ended ? " yet" : ""}.`);
    say(this.late, overdue(summary));
    const key = this.good.slice(0, NAMED).map((row) => row.arm).join("\n");
    if (this.list.dataset.key !== key) {
      this.list.dataset.key = key;
      this.list.replaceChildren(...this.good.slice(0, NAMED).map((row) => this.line(row)));
    }
    say(this.rest, many > NAMED ? `and ${count(many - NAMED)} more` : "");
    this.take.hidden = this.list.hidden = !many;
    this.rest.hidden = many <= NAMED;
    say(this.keep, keepRunning(summary, this.scale.above, forecast, points));
    this.stop.hidden = summary.ended || !mayWrite();
  }

  /** @param {Row} row */
  line(row) {
    return h(
      "li",
      {},
      h("span", { class: "verdict good", "aria-hidden": "true" }, this.scale.glyph(row)),
      h("a", { href: this.href(row), title: nameOf(row) }, h("bdi", {}, nameOf(row))),
      h("span", { class: "hint" }, this.scale.value(row.mean)),
    );
  }
}

/** Advice about overdue tickets; empty without any. @param {Summary} of */
function overdue({ tally, ended }) {
  const many = tally?.overdue ?? 0;
  if (!many || ended) return "";
  return many === 1 ? "1 ticket is overdue: tell its reward or void it." : `${count(many)} tickets are overdue: tell their rewards or void them.`;
}

/** Advice on whether to continue. @param {Summary} of @param {string} above @param {import("./forecast.js").Forecast} forecast @param {import("./types.js").ProgressPoint[]} points */
function keepRunning(of, above, forecast, points) {
  if (of.ended) return `The campaign has ended${of.open ? `; ${counted(of.open, "arm")} ${of.open === 1 ? "stays" : "stay"} undecided` : ""}.`;
  if (!of.open) return "Every arm is decided: nothing is left to sample.";
  if (!of.told) return `Nothing has been sampled yet. Run the program that asks for samples and tells their rewards. ${outlook(of, forecast)}`;
  if (of.stop_after) return `Keep running to find ${counted(of.stop_after - of.good, "more arm")} ${above}. Then the campaign ends.`;
  const left = outlook(of, forecast, points);
  if (of.finish?.waiting) return `Keep running to find more arms ${above}. ${left} ${sooner(of)}`;
  const which = `Keep running to decide the ${counted(of.open, "undecided arm")}`;
  const [these, them] = [` of the ${counted(of.open, "undecided arm")}`, " of them"]; // they are named already
  if (left) return left.includes(these) ? `${which}: ${left.replace(these, them)}` : `${which}. ${left}`;
  const { no_forecast } = of.question;
  return no_forecast ? `${which}. ${upper(no_forecast)}` : `${which}: each gets its verdict the moment it is certain.`;
}

/** How to decide arms that wait. On a fixed test set and with units, rewards need tickets. @param {Summary} of */
function sooner({ cases, units }) {
  const fresh = "start a new campaign with \u201cAlso decide bad arms early\u201d";
  return `To decide them sooner, ${cases || units ? "" : "sample them yourself, or "}${fresh}.`;
}
