/** Create a campaign: paste arms or drop a CSV, see the plan, start. */
import { post } from "./api.js";
import { doubled, fromCsv, fromLines } from "./csv.js";
import { h, say } from "./dom.js";
import { about, counted } from "./format.js";
import { More } from "./more.js";
import { complain, field, Question } from "./question.js";

/** @typedef {import("./types.js").NewArm} NewArm */
/** @typedef {import("./types.js").Plan} Plan */
const WAIT = 600; // ms after the last key before a plan is made

/** @param {string} text */
const hint = (text) => h("p", { class: "hint" }, text);

/** @returns {import("./types.js").View} */
export function createView() {
  const form = new CreateForm();
  return { element: form.element, close: () => form.close() };
}

class CreateForm {
  constructor() {
    const oninput = () => this.changed();
    this.name = h("input", { autocomplete: "off", oninput, maxlength: "200" });
    this.measured = h("input", { autocomplete: "off", maxlength: "200", placeholder: "click rate" });
    this.by = h("input", { autocomplete: "name", maxlength: "200", placeholder: "you or your team" });
    this.question = new Question(oninput);
    this.more = new More(oninput);
    const typed = () => {
      this.dropped = null;
      oninput();
    };
    this.text = h("textarea", { rows: "8", spellcheck: "false", placeholder: "One arm per line", oninput: typed });
    const onchange = () => void this.read(this.file.files?.[0]);
    this.file = h("input", { type: "file", accept: ".csv,.txt,text/csv,text/plain", onchange });
    this.found = h("p", { class: "hint", role: "status" });
    this.plan = h(
      "div",
      { class: "plan", role: "status" },
      hint("Shown here as soon as there are arms and something to compare them with."),
    );
    this.problem = h("p", { class: "problem", role: "alert" });
    this.start = h("button", { class: "main", type: "submit" }, "Start the campaign");
    this.dropped = /** @type {NewArm[] | null} */ (null);
    this.timer = 0;
    this.abort = new AbortController();
    this.element = this.layout();
    this.changed();
  }

  layout() {
    return h(
      "form",
      { class: "create", novalidate: true, onsubmit: (/** @type {Event} */ e) => void this.submit(e) },
      h("h1", {}, "New campaign"),
      h(
        "div",
        { class: "form-grid" },
        h("section", { class: "card", "aria-label": "The arms" }, ...this.names(), this.dropZone()),
        h("section", { class: "card", "aria-label": "The question" }, ...this.question.fields, this.more.element),
        h("section", { class: "card outcome", "aria-label": "What it will take" }, h("h2", {}, "What it will take"), this.plan, this.problem, h("div", { class: "go" }, this.start)),
      ),
    );
  }

  names() {
    return [
      field("name", "Name", this.name, "The title of its page."),
      h(
        "div",
        { class: "two" },
        field("measured", "What is measured", this.measured, "Shown under the title."),
        field("by", "Started by", this.by, "Shown under the title."),
      ),
    ];
  }

  dropZone() {
    const over = (/** @type {DragEvent} */ event, /** @type {boolean} */ on) => {
      event.preventDefault();
      zone.classList.toggle("over", on);
    };
    const zone = h(
      "div",
      {
        class: "drop",
        ondragover: (/** @type {DragEvent} */ e) => over(e, true),
        ondragleave: (/** @type {DragEvent} */ e) => over(e, false),
        ondrop: (/** @type {DragEvent} */ e) => {
          over(e, false);
          void this.read(e.dataTransfer?.files[0]);
        },
      },
      field("arms", "Arms", this.text, "The names of the arms, one per line."),
      h(
        "div",
        { class: "target" },
        field(
          "file",
          "Or drop a CSV file here",
          this.file,
          "With the columns id (or arm) and label; without headings the first column is the arm, the second its label.",
        ),
      ),
      this.found,
    );
    return zone;
  }

  arms() {
    return this.dropped ?? fromLines(this.text.value);
  }

  /** @param {File | undefined} file */
  async read(file) {
    if (!file) return;
    this.dropped = fromCsv(await file.text());
    this.text.value = this.dropped
      .slice(0, 2000)
      .map(({ id, label }) => label ?? id)
      .join("\n");
    this.changed();
  }

  /** The request body; null if something is missing. */
  wish() {
    const arms = this.arms();
    const asked = this.question.asked(arms);
    const said = Object.entries({ measured: this.measured.value.trim(), by: this.by.value.trim() }).filter(([, text]) => text);
    const metadata = said.length ? { metadata: Object.fromEntries(said) } : {};
    return arms.length && asked ? { name: this.name.value.trim(), arms, ...asked, ...this.more.asked, ...metadata } : null;
  }

  changed() {
    const arms = this.arms();
    const twice = this.twice();
    say(this.found, arms.length ? counted(arms.length, "arm") : "");
    say(this.problem, "");
    this.question.show(arms);
    this.more.show(this.question);
    const wish = this.wish();
    for (const input of [this.name, ...Object.values({ ...this.question.inputs, ...this.more.inputs })]) complain(input, "");
    complain(this.text, twice);
    clearTimeout(this.timer);
    this.abort.abort();
    const planned = wish && !twice ? this.question.planned(arms) : null;
    if (planned) this.timer = window.setTimeout(() => void this.makePlan(planned), WAIT);
    else if (wish && !twice)
      this.plan.replaceChildren(hint(this.question.planless));
  }

  /** A sentence about arms that are named more than once. */
  twice() {
    const twice = [...new Set(doubled(this.arms()))];
    return twice.length ? `More than once: ${twice.slice(0, 3).join(", ")}${twice.length > 3 ? ", …" : ""}.` : "";
  }

  /** Invalid fields and the reasons. @returns {[HTMLElement, string][]} */
  problems() {
    const arms = this.arms();
    const few = this.question.against && arms.length === 1 ? "Give the control and at least one arm to compare with it." : "";
    const wrong = !arms.length ? "Give at least one arm, one per line." : few || this.twice();
    return [
      ...(wrong ? /** @type {[HTMLElement, string][]} */ ([[this.text, wrong]]) : []),
      ...(this.name.value.trim() ? [] : /** @type {[HTMLElement, string][]} */ ([[this.name, "Give the campaign a name."]])),
      ...this.question.problems(),
      ...this.more.problems(),
    ];
  }

  /** A refusal of the server, beside the field that it names first. @param {string} message */
  refused(message) {
    const inputs = { ...this.question.inputs, ...this.more.inputs, campaign: this.name, name: this.name, arm: this.text, arms: this.text };
    const named = message.toLowerCase().match(/[a-z_]+/g) ?? [];
    const word = named.find((each) => each in inputs);
    const input = word && inputs[/** @type {keyof typeof inputs} */ (word)];
    if (input && !input.closest("[hidden]")) this.point([[input, message]]);
    else say(this.problem, message);
  }

  /** @param {[HTMLElement, string][]} wrong the first gets the focus */
  point(wrong) {
    for (const [input, text] of wrong) complain(input, text);
    for (const [input] of wrong) input.closest("details")?.setAttribute("open", "");
    wrong[0]?.[0].focus();
  }

  /** @param {Record<string, unknown>} planned */
  async makePlan(planned) {
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.plan.replaceChildren(hint("Working it out…"));
    try {
      /** @type {Plan} */
      const plan = await post("/api/v1/plan", planned, signal);
      this.plan.replaceChildren(...planLines(plan), hint(this.more.unplanned));
    } catch (error) {
      if (signal.aborted) return;
      this.plan.replaceChildren(h("p", { class: "problem" }, error instanceof Error ? error.message : String(error)));
    }
  }

  /** @param {Event} event */
  async submit(event) {
    event.preventDefault();
    const wish = this.wish();
    const wrong = this.problems();
    if (!wish || wrong.length) return this.point(wrong);
    this.start.disabled = true;
    try {
      const made = await post("/api/v1/campaigns", wish);
      location.hash = `#/campaign/${encodeURIComponent(made.name)}`;
    } catch (error) {
      this.refused(error instanceof Error ? error.message : String(error));
    } finally {
      this.start.disabled = false;
    }
  }

  close() {
    clearTimeout(this.timer);
    this.abort.abort();
  }
}

/** Means around the bar, in plain words; the law is in the title. @param {string} guess */
const assumed = (guess) => guess.replace(/means drawn from Beta\([^)]*\)/, "means spread around the bar");

/** @param {Plan} plan @returns {Node[]} */
function planLines(plan) {
  const steps = /** @type {[string, number | null][]} */ ([
    ["half of the arms", plan.half],
    ["eight in ten", plan.eighty],
    ["nine in ten", plan.ninety],
    ["all of them", plan.rounds?.median ?? null],
  ])
    .flatMap(([text, pulls]) => (pulls ? [{ text, pulls }] : []))
    .filter(({ pulls }, i, all) => pulls !== all[i + 1]?.pulls); // nine in ten of three arms are all of them
  const rows = steps.map(({ text, pulls }) => h("li", {}, h("strong", {}, about(pulls)), h("span", {}, text)));
  const sentence = `${plan.sentence[0]?.toUpperCase()}${plan.sentence.slice(1)}.`;
  return [
    h("ul", { class: "steps", "aria-label": "Samples until this share of the arms is decided" }, ...rows),
    h("p", { class: "sentence" }, sentence),
    h("p", { class: "hint", title: plan.guess ?? "" }, plan.guess ? `Assumed: ${assumed(plan.guess)}.` : ""),
  ];
}
