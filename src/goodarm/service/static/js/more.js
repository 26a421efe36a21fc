/** The folded part of the form: the order of verdicts, lost tickets, and when to stop. */
import { h } from "./dom.js";
import { field } from "./question.js";

/** Treatments of a ticket without a reward, in the server's and the page's words. @type {[string, string][]} */
const LOST = [
  ["wait", "wait for the reward"],
  ["zero", "count it as 0"],
  ["void", "withdraw it"],
];

export class More {
  /** @param {() => void} changed */
  constructor(changed) {
    this.policy = /** @type {string | null} */ (null); // that decides bad arms early
    this.early = h("input", { type: "checkbox", onchange: changed });
    this.after = h("input", { autocomplete: "off", oninput: changed, placeholder: "no limit" });
    this.unanswered = h("select", { onchange: changed }, ...LOST.map(([value, text]) => h("option", { value }, text)));
    this.stop = h("input", { autocomplete: "off", oninput: changed, inputmode: "numeric", placeholder: "none" });
    this.earlyField = field("early", "Also decide bad arms early", this.early, "By default, good arms are found first and bad ones wait.");
    this.earlyField.classList.add("check");
    this.element = h(
      "details",
      { class: "more" },
      h("summary", {}, "More: bad arms, lost tickets, when to stop"),
      h(
        "div",
        {},
        this.earlyField,
        h(
          "div",
          { class: "two" },
          field("after", "A ticket is lost after", this.after, "Without a reward. Write 90s, 30min, 2h or 7d."),
          field("unanswered", "A lost ticket", this.unanswered, "Withdraw it only if losses have nothing to do with rewards. 0 is for rewards in [0, 1]."),
        ),
        field("stop-after", "Stop after this many good arms", this.stop, "Leave it empty to decide every arm."),
      ),
    );
  }

  /** Show the fields that the question allows. @param {import("./question.js").Question} question */
  show(question) {
    this.policy = question.settling;
    this.earlyField.hidden = !this.policy;
  }

  /** The terms that differ from the defaults. */
  get asked() {
    const [after, stop, unanswered] = [this.after.value.trim(), this.stop.value.trim(), this.unanswered.value];
    return {
      ...(this.early.checked && this.policy ? { policy: this.policy } : {}),
      ...(after ? { after } : {}),
      ...(unanswered === "wait" ? {} : { unanswered }),
      ...(stop ? { stop_after: Number(stop) } : {}),
    };
  }

  /** A note on terms that the plan ignores; empty if there are none. */
  get unplanned() {
    const { policy, stop_after } = this.asked;
    return policy || stop_after ? "The plan is for good arms first, until every arm is decided." : "";
  }

  /** Invalid fields and the reasons. @returns {[HTMLElement, string][]} */
  problems() {
    const [stop, timeless] = [this.stop.value.trim(), this.unanswered.value !== "wait" && !this.after.value.trim()];
    return [
      ...(timeless ? /** @type {[HTMLElement, string][]} */ ([[this.after, "Give the time after which a ticket is lost, such as 30min."]]) : []),
      ...(stop && !/^0*[1-9]\d*$/.test(stop) ? /** @type {[HTMLElement, string][]} */ ([[this.stop, `Give a whole number of 1 or more, such as 3; got ${stop}.`]]) : []),
    ];
  }

  /** Fields by the server's names. @returns {Record<string, HTMLElement>} */
  get inputs() {
    return { policy: this.early, after: this.after, unanswered: this.unanswered, stop_after: this.stop };
  }
}
