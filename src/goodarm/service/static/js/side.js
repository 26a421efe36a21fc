/** The small parts beside the chart: latest verdicts and pending tickets. */
import { h, say } from "./dom.js";
import { age, count, counted, fullTime, since } from "./format.js";
import { nameOf } from "./described.js";

/** @typedef {import("./types.js").Row} Row */
const SHOWN = 6;
const AT_WORST = "Until then each counts at its worst, so a late reward can't make a verdict wrong.";
const IN_ORDER = "Until then later rewards of the same arm wait for it, so that no late reward can make a verdict wrong.";

/** Fill a list if its content changed. @param {HTMLElement} list @param {string} key @param {() => Node[]} make */
function refill(list, key, make) {
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  list.replaceChildren(...make());
}

/** The last verdicts, newest first. Times have the same format, so they compare as text. @param {Row[]} rows */
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
        h("span", { "aria-hidden": "true" }, scale.glyph(row)),
        h("span", { class: "unseen" }, scale.word(row)),
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
          : [h("li", { class: "hint" }, "None yet: each arm appears here as soon as it is decided.")],
      );
    },
  };
}

/** Words for tickets that were not told normally. @type {[string, string][]} */
const ODD = [
  ["overdue", "overdue"],
  ["missing", "expired and counted as 0"],
  ["late", "told too late and refused"],
  ["void", "void"],
];

/** @typedef {import("./types.js").PendingTicket} PendingTicket */

/** Tickets by arm, in the order of their oldest. @param {PendingTicket[]} tickets the oldest first */
function byArm(tickets) {
  /** @type {Map<string | null, PendingTicket & {many: number}>} */
  const found = new Map();
  for (const ticket of tickets) {
    const key = ticket.arm ?? ticket.ticket;
    const first = found.get(key);
    if (first) first.many += 1;
    else found.set(key, { ...ticket, many: 1 });
  }
  return [...found.values()];
}

/**
 * Pending tickets, by arm, the oldest first.
 * @param {boolean} bounded @param {(arm: string) => string} href @param {(arm: string) => string} name
 */
export function pending(bounded, href, name) {
  const words = h("p", {}),
    list = h("ol", { class: "feed", "aria-label": "Arms with the oldest tickets" });
  const odd = h("p", { class: "hint" });
  const line = (/** @type {ReturnType<typeof byArm>[number]} */ { arm, many, pulls, overdue, asked_at, seconds }) =>
    h(
      "li",
      {},
      arm === null
        ? h("span", { class: "grow" }, `a block, ${counted(pulls, "sample")} missing`)
        : h("a", { href: href(arm), title: name(arm) }, h("bdi", {}, name(arm))),
      many > 1 && h("span", { class: "hint" }, `× ${count(many)}`),
      overdue && h("span", { class: "tag late" }, "overdue"),
      h("time", { class: "hint", datetime: asked_at, title: `asked ${fullTime(asked_at)}` }, age(seconds)),
    );
  return {
    element: h("div", {}, words, odd, list),
    /** @param {import("./types.js").Summary} summary @param {Row[]} rows */
    show(summary, rows) {
      const held = rows.filter((row) => row.pending > 0);
      const where = `${counted(summary.pending, "ticket")} on ${counted(held.length, "arm")} not told yet.`;
      const meanwhile = bounded ? AT_WORST : IN_ORDER;
      say(words, summary.pending ? `${where} ${meanwhile}` : "None: every ticket is answered.");
      words.className = summary.pending ? "" : "hint";
      const tally = summary.tally ?? {};
      odd.className = tally.overdue ? "problem" : "hint";
      say(odd, ODD.flatMap(([key, text]) => (tally[key] ? [`${count(tally[key])} ${text}`] : [])).join("; "));
      if (!summary.pending) this.list([]);
    },
    /** @param {PendingTicket[]} tickets the oldest first */
    list(tickets) {
      const arms = byArm(tickets).slice(0, SHOWN - 1);
      const key = arms.map(({ ticket, many, seconds, overdue }) => `${ticket} ${many} ${age(seconds)} ${overdue}`);
      refill(list, key.join("\n"), () => arms.map(line));
    },
  };
}
