/** The small parts beside the chart: latest verdicts and waiting tickets. */
import { h, say } from "./dom.js";
import { count, counted, fullTime, GLYPH, since } from "./format.js";
import { nameOf } from "./intervals.js";

/** @typedef {import("./types.js").Row} Row */
const SHOWN = 6;
const MEANWHILE = "Until then each counts at its worst, so that no late reward can make a verdict wrong.";

/** Fill a list if its content changed. @param {HTMLElement} list @param {string} key @param {() => Node[]} make */
function refill(list, key, make) {
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  list.replaceChildren(...make());
}

/** The last verdicts, newest first; times are written alike, so that they compare as text. @param {Row[]} rows */
function newest(rows) {
  const decided = rows.filter((row) => row.decided_at);
  return decided.sort((a, b) => ((a.decided_at ?? "") < (b.decided_at ?? "") ? 1 : -1)).slice(0, SHOWN);
}

/** @param {import("./intervals.js").Scale} scale @param {(row: Row) => string} href */
export function latest(scale, href) {
  const list = h("ol", { class: "feed" });
  const line = (/** @type {Row} */ row) =>
    h(
      "li",
      {},
      h(
        "span",
        { class: `verdict ${row.verdict}` },
        h("span", { "aria-hidden": "true" }, GLYPH[row.verdict]),
        h("span", { class: "unseen" }, row.verdict),
      ),
      h("a", { href: href(row), title: nameOf(row) }, h("bdi", {}, nameOf(row))),
      h("span", { class: "hint" }, scale.value(row.mean)),
      h(
        "time",
        { class: "hint", datetime: row.decided_at, title: fullTime(row.decided_at) },
        since(row.decided_at ?? ""),
      ),
    );
  return {
    element: list,
    /** @param {Row[]} rows */
    show(rows) {
      const decided = newest(rows);
      const key = decided.map((row) => `${row.arm} ${since(row.decided_at ?? "")}`).join("\n");
      refill(list, key || "none", () =>
        decided.length
          ? decided.map(line)
          : [h("li", { class: "hint" }, "None yet: each arm shows up here the moment it is certain.")],
      );
    },
  };
}

/** What became of tickets that were not simply told. @type {[string, string][]} */
const ODD = [
  ["overdue", "overdue"],
  ["missing", "counted as 0, their time having passed"],
  ["late", "told too late and refused"],
  ["void", "void"],
];

/** @param {(row: Row) => string} href */
export function waiting(href) {
  const words = h("p", {}),
    list = h("ol", { class: "feed" });
  const odd = h("p", { class: "hint" });
  return {
    element: h("div", {}, words, odd, list),
    /** @param {import("./types.js").Summary} summary @param {Row[]} rows */
    show(summary, rows) {
      const held = rows.filter((row) => row.pending > 0).sort((a, b) => b.pending - a.pending);
      const where = `${counted(summary.pending, "ticket")} on ${counted(held.length, "arm")} not told yet.`;
      say(words, summary.pending ? `${where} ${MEANWHILE}` : "None: every ticket that was handed out is answered.");
      words.className = summary.pending ? "" : "hint";
      const tally = summary.tally ?? {};
      say(odd, ODD.flatMap(([key, text]) => (tally[key] ? [`${count(tally[key])} ${text}`] : [])).join("; "));
      const top = held.slice(0, 5);
      refill(list, top.map((row) => `${row.arm} ${row.pending}`).join("\n"), () =>
        top.map((row) =>
          h(
            "li",
            {},
            h("a", { href: href(row), title: nameOf(row) }, h("bdi", {}, nameOf(row))),
            h("span", { class: "hint" }, count(row.pending)),
          ),
        ),
      );
    },
  };
}
