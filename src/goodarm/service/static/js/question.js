/** The question: which arms reach a bar, or beat a control? */
import { h, say } from "./dom.js";

/** @typedef {import("./types.js").NewArm} NewArm */
const SUGGESTED = 200; // arms that are offered as the control; any other can be typed

/** Percent or a plain number: "2%" and "0.02" are the same bar. @param {string} text */
export function parseBar(text) {
  const clean = text.trim().replace(/\s/g, "").replace(",", ".");
  const number = Number(clean.replace(/%$/, ""));
  if (!clean || !Number.isFinite(number)) return null;
  return clean.endsWith("%") ? number / 100 : number;
}

/** @param {string} id @param {string} label @param {HTMLElement} input @param {import("./dom.js").Child} hint */
export const field = (id, label, input, hint) => {
  input.id = id;
  const note = h("p", { class: "hint", id: `${id}-hint` }, hint);
  const wrong = h("p", { class: "problem", id: `${id}-problem`, role: "alert" });
  input.setAttribute("aria-describedby", `${note.id} ${wrong.id}`);
  return h("div", { class: "field" }, h("label", { for: id }, label), input, note, wrong);
};

/** Show an error beside a field; an empty text removes it. @param {HTMLElement} input @param {string} text */
export function complain(input, text) {
  const wrong = document.getElementById(`${input.id}-problem`);
  if (wrong) say(wrong, text);
  if (text) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

/** @param {string[]} texts @param {() => void} onchange */
const choice = (texts, onchange) => h("select", { onchange }, ...texts.map((text) => h("option", {}, text)));

export class Question {
  /** @param {() => void} changed */
  constructor(changed) {
    const number = { autocomplete: "off", oninput: changed, inputmode: "decimal" };
    this.versus = choice(["which arms reach a bar", "which arms beat a control", "which arms clear several bars"], changed);
    this.kind = choice(
      [
        "between 0 and 1: clicks, passes, shares",
        "measurements around a mean",
        "passes of a fixed set of test cases",
        "amounts of 0 or more: revenue",
      ],
      changed,
    );
    this.bar = h("input", { ...number, placeholder: "2%" });
    this.delta = h("input", { ...number, value: "5%" });
    this.gap = h("input", { ...number, placeholder: "not known" });
    this.spread = h("input", { ...number, placeholder: "1.5" });
    this.cases = h("input", { ...number, placeholder: "500" });
    this.cap = h("input", { ...number, placeholder: "none" });
    this.control = h("input", { autocomplete: "off", oninput: changed, list: "arms-offered" });
    this.margin = h("input", { ...number, value: "0%" });
    this.rate = h("input", { ...number, placeholder: "not known" });
    this.bars = h("input", { autocomplete: "off", oninput: changed, placeholder: "correct >= 90%, slow <= 5%" });
    this.offered = h("datalist", { id: "arms-offered" });
    this.fields = this.layout();
  }

  layout() {
    const error = "The probability that any verdict is wrong: 5% for a confidence of 95%.";
    const only = "Optional; used only for the plan.";
    this.kindField = field("kind", "Rewards", this.kind, "");
    this.barField = field("bar", "The bar", this.bar, "A good arm's mean reward reaches it.");
    this.barsField = field("bars", "The bars", this.bars, "One per metric. A reward is a record with a number in [0, 1] for each.");
    this.marginField = field("margin", "By how much better", this.margin, "0% if any improvement counts.");
    this.controlField = field("control", "The control", this.control, "One of the arms; the first if left empty.");
    this.spreadField = field("spread", "Standard deviation", this.spread, "Of one measurement; it must be known.");
    this.casesField = field("cases", "Test cases", this.cases, "The number of cases. Each arm draws each case at most once.");
    this.capField = field("cap", "Cap", this.cap, "Larger amounts count as this much. Without one no arm is called bad.");
    this.rateField = field("rate", "Expected mean of the control", this.rate, only);
    const gap = (this.gapField = field("gap", "Typical distance from the bar", this.gap, only));
    this.gapLabel = gap.querySelector("label");
    return [
      field("versus", "Question", this.versus, ""),
      this.kindField,
      this.controlField,
      this.barsField,
      this.offered,
      h("div", { class: "two" }, this.barField, this.marginField, field("delta", "Allowed error", this.delta, error)),
      this.spreadField,
      this.casesField,
      this.capField,
      h("div", { class: "two alone" }, this.rateField, gap),
    ];
  }

  get against() {
    return this.versus.selectedIndex === 1;
  }

  get several() {
    return this.versus.selectedIndex === 2;
  }

  get measured() {
    return this.versus.selectedIndex === 0 && this.kind.selectedIndex === 1;
  }

  get onCases() {
    return this.versus.selectedIndex === 0 && this.kind.selectedIndex === 2;
  }

  get amounts() {
    return this.versus.selectedIndex === 0 && this.kind.selectedIndex === 3;
  }

  /** The policy that also decides bad arms early; null if there is none for this question. */
  get settling() {
    if (this.against || (this.amounts && !this.cap.value.trim())) return null;
    return this.amounts ? "settle+bet-mixture" : "settle+gap-mixture";
  }

  /** The reason why there is no plan for this question. */
  get planless() {
    if (this.amounts) return "There is no plan for amounts: how many samples they take depends on their spread.";
    return "For a plan, say what mean you expect of the control.";
  }

  /** Show the relevant fields. @param {NewArm[]} arms */
  show(arms) {
    const { against, measured, several, onCases, amounts } = this;
    for (const [each, shown] of /** @type {[HTMLElement | undefined, boolean][]} */ ([
      [this.kindField, !against && !several],
      [this.barField, !against && !several],
      [this.barsField, several],
      [this.gapField, !several && !amounts],
      [this.spreadField, measured],
      [this.casesField, onCases],
      [this.capField, amounts],
      [this.controlField, against],
      [this.marginField, against],
      [this.rateField, against],
    ]))
      if (each) each.hidden = !shown;
    if (this.gapLabel)
      this.gapLabel.textContent = against ? "Typical difference from it" : "Typical distance from the bar";
    this.bar.placeholder = measured || amounts ? "10" : onCases ? "80%" : "2%";
    this.control.placeholder = arms[0]?.id ?? "";
    if (against)
      this.offered.replaceChildren(
        ...arms.slice(0, SUGGESTED).map(({ id, label }) => h("option", { value: id }, label ?? id)),
      );
  }

  /** The requested terms; null if something is missing. @param {NewArm[]} arms */
  asked(arms) {
    const delta = parseBar(this.delta.value);
    if (delta === null) return null;
    if (this.against) {
      const [control, margin] = [this.control.value.trim() || arms[0]?.id, parseBar(this.margin.value)];
      return control === undefined || margin === null ? null : { control, margin, delta };
    }
    if (this.several) return this.bars.value.trim() ? { bars: this.bars.value.trim(), delta } : null;
    const [threshold, spread] = [parseBar(this.bar.value), parseBar(this.spread.value)];
    if (threshold === null || (this.measured && !spread)) return null;
    if (this.onCases) {
      const cases = parseBar(this.cases.value);
      return cases === null ? null : { threshold, delta, cases };
    }
    if (this.amounts) {
      const cap = parseBar(this.cap.value);
      return { threshold, delta, rewards: cap === null ? "nonnegative" : `nonnegative:${cap}` };
    }
    return this.measured ? { threshold, delta, rewards: `gaussian:${spread}` } : { threshold, delta };
  }

  /** Invalid fields and the reasons. @returns {[HTMLElement, string][]} */
  problems() {
    /** @param {HTMLInputElement} input @param {string} example @param {boolean} needed @returns {[HTMLElement, string][]} */
    const number = (input, example, needed) => {
      const typed = input.value.trim();
      if (!typed && !needed) return [];
      return parseBar(typed) === null ? [[input, `Give a number, such as ${example}${typed ? `; got ${typed}` : ""}.`]] : [];
    };
    return [
      ...(this.several && !this.bars.value.trim() ? /** @type {[HTMLElement, string][]} */ ([[this.bars, "Give at least one bar, such as correct >= 90%."]]) : []),
      ...(this.against ? number(this.margin, "2%", true) : []),
      ...(!this.against && !this.several ? number(this.bar, this.bar.placeholder, true) : []),
      ...number(this.delta, "5%", true),
      ...(this.measured ? number(this.spread, "1.5", true) : []),
      ...(this.onCases ? number(this.cases, "500", true) : []),
      ...(this.amounts ? number(this.cap, "100", false) : []),
      ...(this.against ? number(this.rate, "30%", false) : []),
      ...number(this.gap, "1%", false),
    ];
  }

  /** Fields by the server's names. @returns {Record<string, HTMLElement>} */
  get inputs() {
    const { bar, bars, delta, control, margin, spread, cases, cap } = this;
    const rewards = { rewards: spread, scale: spread, cases, count: cases, cap };
    return { threshold: bar, bars, metric: bars, metrics: bars, delta, control, margin, ...rewards };
  }

  /** The input of a plan; null if too little is known. @param {NewArm[]} arms */
  planned(arms) {
    const asked = this.asked(arms);
    const [rate, gap] = [parseBar(this.rate.value), parseBar(this.gap.value) || null];
    if (!asked || this.amounts) return null;
    if (this.several) return { ...asked, arms: arms.length };
    if (!this.against) return { ...asked, arms: arms.length, gap };
    return rate === null || arms.length < 2 ? null : { ...asked, control: rate, arms: arms.length - 1, gap };
  }
}
