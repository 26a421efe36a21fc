/** Create a campaign: paste arms or drop a CSV, see what it will take, start. */
import { post } from "./api.js";
import { doubled, fromCsv, fromLines } from "./csv.js";
import { h, s, say } from "./dom.js";
import { about, counted, percent } from "./format.js";

/** @typedef {import("./types.js").NewArm} NewArm */
/** @typedef {import("./types.js").Plan} Plan */
const WAIT = 600; // ms after the last key before a plan is made

/** Percent or a plain number: "2%" and "0.02" are the same bar. @param {string} text */
export function parseBar(text) {
  const clean = text.trim().replace(/\s/g, "").replace(",", ".");
  const number = Number(clean.replace(/%$/, ""));
  if (!clean || !Number.isFinite(number)) return null;
  return clean.endsWith("%") ? number / 100 : number;
}

/** @param {string} id @param {string} label @param {HTMLElement} input @param {import("./dom.js").Child} hint */
const field = (id, label, input, hint) => {
  input.id = id;
  const note = h("p", { class: "hint", id: `${id}-hint` }, hint);
  input.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: id }, label), input, note);
};

/** @returns {import("./types.js").View} */
export function createView() {
  const form = new CreateForm();
  return { element: form.element, close: () => form.close() };
}

class CreateForm {
  constructor() {
    const change = () => this.changed();
    this.name = h("input", { required: true, maxlength: "100", autocomplete: "off", oninput: change });
    this.bar = h("input", {
      required: true,
      inputmode: "decimal",
      placeholder: "2%",
      autocomplete: "off",
      oninput: change,
    });
    this.gap = h("input", { inputmode: "decimal", placeholder: "not known", autocomplete: "off", oninput: change });
    this.delta = h("input", { inputmode: "decimal", value: "5%", autocomplete: "off", oninput: change });
    this.text = h("textarea", {
      rows: "10",
      spellcheck: "false",
      placeholder: "One arm per line",
      oninput: () => {
        this.dropped = null;
        change();
      },
    });
    this.file = h("input", {
      type: "file",
      accept: ".csv,.txt,text/csv,text/plain",
      onchange: () => void this.read(this.file.files?.[0]),
    });
    this.found = h("p", { class: "hint", role: "status" });
    this.plan = h(
      "div",
      { class: "plan", role: "status" },
      h("p", { class: "hint" }, "What it will take is shown here as soon as there are a bar and arms."),
    );
    this.problem = h("p", { class: "problem", role: "alert" });
    this.start = h("button", { class: "main", type: "submit", disabled: true }, "Start the campaign");
    this.dropped = /** @type {NewArm[] | null} */ (null);
    this.timer = 0;
    this.abort = new AbortController();
    this.element = this.layout();
  }

  layout() {
    return h(
      "form",
      { class: "create", onsubmit: (/** @type {Event} */ e) => void this.submit(e) },
      h("h1", {}, "New campaign"),
      h(
        "div",
        { class: "grid pair" },
        h("section", { class: "card", "aria-label": "Arms" }, this.dropZone()),
        h("section", { class: "card", "aria-label": "The question" }, ...this.fields()),
      ),
    );
  }

  fields() {
    return [
      field("name", "Name", this.name, "What you will call it."),
      field("bar", "The bar", this.bar, "A good arm's mean reward reaches it: 2%, or 0.02."),
      field("delta", "Allowed error", this.delta, "The probability that any verdict is wrong."),
      field("gap", "Typical distance from the bar", this.gap, "Only for the plan, if you have an idea."),
      h("h2", {}, "What it will take"),
      this.plan,
      this.problem,
      this.start,
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
      field("arms", "Arms", this.text, "One arm per line, as it should be called."),
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

  /** What would be sent; null where something is missing. */
  wish() {
    const [arms, threshold, delta] = [this.arms(), parseBar(this.bar.value), parseBar(this.delta.value)];
    if (!arms.length || threshold === null || delta === null) return null;
    return { name: this.name.value.trim(), arms, threshold, delta };
  }

  changed() {
    const arms = this.arms(),
      twice = doubled(arms);
    say(
      this.found,
      twice.length
        ? `${counted(arms.length, "arm")}; twice: ${twice.slice(0, 3).join(", ")}${twice.length > 3 ? ", …" : ""}`
        : arms.length
          ? counted(arms.length, "arm")
          : "",
    );
    say(this.problem, "");
    const wish = this.wish();
    this.start.disabled = !wish || !wish.name || twice.length > 0;
    clearTimeout(this.timer);
    this.abort.abort();
    if (wish && !twice.length) this.timer = window.setTimeout(() => void this.makePlan(wish), WAIT);
  }

  /** @param {{arms: NewArm[], threshold: number, delta: number}} wish */
  async makePlan({ arms, threshold, delta }) {
    this.abort = new AbortController();
    const gap = parseBar(this.gap.value) || likelyGap(threshold);
    this.plan.replaceChildren(h("p", { class: "hint" }, "Working it out…"));
    try {
      /** @type {Plan} */
      const plan = await post("/api/v1/plan", { arms: arms.length, threshold, delta, gap }, this.abort.signal);
      this.plan.replaceChildren(...planLines(plan, gap));
    } catch (error) {
      if (this.abort.signal.aborted) return;
      this.plan.replaceChildren(h("p", { class: "problem" }, error instanceof Error ? error.message : String(error)));
    }
  }

  /** @param {Event} event */
  async submit(event) {
    event.preventDefault();
    const wish = this.wish();
    if (!wish) return;
    this.start.disabled = true;
    try {
      const made = await post("/api/v1/campaigns", wish);
      location.hash = `#/campaign/${encodeURIComponent(made.name)}`;
    } catch (error) {
      say(this.problem, error instanceof Error ? error.message : String(error));
      this.start.disabled = false;
    }
  }

  close() {
    clearTimeout(this.timer);
    this.abort.abort();
  }
}

/** A guess where nobody has an idea: a quarter of the way to the nearer end. @param {number} threshold */
const likelyGap = (threshold) => Number((Math.min(threshold, 1 - threshold) / 4).toPrecision(1));

/** @param {Plan} plan @param {number} gap @returns {Node[]} */
function planLines(plan, gap) {
  const steps = /** @type {[string, number | null][]} */ ([
    ["half of the arms", plan.half],
    ["eight in ten", plan.eighty],
    ["nine in ten", plan.ninety],
    ["all", plan.rounds?.median ?? null],
  ]).flatMap(([text, pulls]) => (pulls ? [{ text, pulls }] : []));
  const most = Math.max(...steps.map(({ pulls }) => pulls), 1);
  const rows = steps.map(({ text, pulls }) => {
    const bar = s("rect", { width: `${(100 * pulls) / most}%`, height: "100%" });
    const drawing = s("svg", { class: "step", "aria-hidden": "true" }, bar);
    return h("li", {}, h("span", {}, text), drawing, h("span", {}, about(pulls)));
  });
  const sentence = `${plan.sentence[0]?.toUpperCase()}${plan.sentence.slice(1)}.`;
  return [
    h("p", { class: "sentence" }, sentence),
    h("ul", { class: "steps", "aria-label": "Pulls until so many arms are decided" }, ...rows),
    h("p", { class: "hint" }, `Simulated, with arms ${percent(gap)} above or below the bar.`),
  ];
}
