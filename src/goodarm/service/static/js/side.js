/** The small parts beside the chart: latest verdicts, waiting tickets, the banner over simulated rewards. */
import { h, say } from "./dom.js";
import { count, counted, fullTime, GLYPH, since } from "./format.js";
import { nameOf } from "./intervals.js";
import { mayWrite } from "./rights.js";
import { isWrong, player, simulatedBy } from "./simulate.js";

/** @typedef {import("./types.js").Row} Row */
const SHOWN = 6;

/** Fill a list only where its content changed. @param {HTMLElement} list @param {string} key @param {() => Node[]} make */
function refill(list, key, make) {
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  list.replaceChildren(...make());
}

/** @param {import("./intervals.js").Scale} scale @param {(row: Row) => string} href */
export function latest(scale, href) {
  const list = h("ol", { class: "feed" });
  const line = (/** @type {Row} */ row) => h("li", {},
    h("span", { class: `verdict ${row.verdict}` }, h("span", { "aria-hidden": "true" }, GLYPH[row.verdict]), h("span", { class: "unseen" }, row.verdict)),
    h("a", { href: href(row), title: nameOf(row) }, h("bdi", {}, nameOf(row))),
    h("span", { class: "hint" }, scale.value(row.mean)),
    h("time", { class: "hint", datetime: row.decided_at, title: fullTime(row.decided_at) }, since(row.decided_at ?? "")));
  return { element: list,
    /** @param {Row[]} rows */
    show(rows) {
      const decided = rows.filter((row) => row.decided_at).sort((a, b) => Date.parse(b.decided_at ?? "") - Date.parse(a.decided_at ?? "")).slice(0, SHOWN);
      const key = decided.map((row) => `${row.arm} ${since(row.decided_at ?? "")}`).join("\n");
      refill(list, key || "none", () => decided.length ? decided.map(line) : [h("li", { class: "hint" }, "None yet: each arm shows up here the moment it is certain.")]);
    } };
}

/** @param {(row: Row) => string} href */
export function waiting(href) {
  const words = h("p", {}), list = h("ol", { class: "feed" });
  return { element: h("div", {}, words, list),
    /** @param {import("./types.js").Summary} summary @param {Row[]} rows */
    show(summary, rows) {
      const held = rows.filter((row) => row.pending > 0).sort((a, b) => b.pending - a.pending);
      say(words, summary.pending === 0 ? "None: every ticket that was handed out has been told."
        : `${counted(summary.pending, "ticket")} on ${counted(held.length, "arm")} not told yet. Until then each counts at its worst, so a late reward can't make a verdict wrong.`);
      words.className = summary.pending ? "" : "hint";
      const top = held.slice(0, 5);
      refill(list, top.map((row) => `${row.arm} ${row.pending}`).join("\n"), () => top.map((row) => h("li", {},
        h("a", { href: href(row), title: nameOf(row) }, h("bdi", {}, nameOf(row))), h("span", { class: "hint" }, count(row.pending)))));
    } };
}

/** Says that rewards are made up; null where they are real. @param {import("./types.js").Summary} summary */
export function simulation(summary) {
  const by = simulatedBy(summary);
  if (!by) return null;
  const play = player(summary.name), ours = by === "page" && mayWrite();
  const toggle = h("button", { type: "button", onclick: () => { if (play.running) play.stop(); else play.start(); tell(); } });
  const words = h("span"), score = h("span", { class: "hint" });
  const tell = () => {
    say(toggle, play.running ? "Pause" : "Play on");
    say(words, play.problem || (play.running ? "This page makes them up, asking and telling through the API as your program would." : `The ${by} makes them up.`));
  };
  tell();
  const timer = setInterval(tell, 500);
  const tag = h("span", { class: "tag simulated" }, "simulated rewards");
  return {
    element: h("section", { class: "card banner", "aria-label": "Simulated rewards" }, tag, words, score, ours && toggle),
    /** @param {Row[]} rows */
    show(rows) {
      const decided = rows.filter((row) => row.verdict !== "open");
      if (ours && decided.length) say(score, `${count(decided.filter(isWrong).length)} of ${counted(decided.length, "verdict")} wrong.`);
    },
    close: () => clearInterval(timer),
  };
}
