/** Create a campaign: paste arms or drop a CSV, see what it will take, start. */
import { post } from "./api.js";
import { doubled, fromCsv, fromLines } from "./csv.js";
import { h, say } from "./dom.js";
import { about, counted } from "./format.js";

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
    this.bar = h("input", { required: true, inputmode: "decimal", placeholder: "2%", autocomplete: "off", oninput: change });
    this.gap = h("input", { inputmode: "decimal", placeholder: "not known", autocomplete: "off", oninput: change });
    this.delta = h("input", { inputmode: "decimal", value: "5%", autocomplete: "off", oninput: change });
    this.text = h("textarea", { rows: "10", spellcheck: "false", placeholder: "One arm per line", oninput: () => { this.dropped = null; change(); } });
    this.file = h("input", { type: "file", accept: ".csv,.txt,text/csv,text/plain", onchange: () => void this.read(this.file.files?.[0]) });
    this.found = h("p", { class: "hint", role: "status" });
    this.plan = h("div", { class: "plan", role: "status" }, h("p", { class: "hint" }, "What it will take is shown here as soon as there are a bar and arms."));
    this.problem = h("p", { class: "problem", role: "alert" });
    this.start = h("button", { class: "main", type: "submit", disabled: true }, "Start the campaign");
    this.dropped = /** @type {NewArm[] | null} */ (null);
    this.timer = 0;
    this.abort = new AbortController();
    this.element = this.layout();
  }

  layout() {
    const drop = h("div", { class: "drop",
      ondragover: (/** @type {DragEvent} */ e) => { e.preventDefault(); drop.classList.add("over"); },
      ondragleave: () => drop.classList.remove("over"),
      ondrop: (/** @type {DragEvent} */ e) => { e.preventDefault(); drop.classList.remove("over"); void this.read(e.dataTransfer?.files[0]); } },
      field("arms", "Arms", this.text, "One arm per line, as it should be called."),
      h("div", { class: "target" }, field("file", "Or drop a CSV file here", this.file, "With the columns id (or arm) and label; without headings the first column is the arm, the second its label.")),
      this.found);
    return h("form", { class: "create", onsubmit: (/** @type {Event} */ e) => void this.submit(e) },
      h("h1", {}, "New campaign"),
      h("div", { class: "grid pair" },
        h("section", { class: "card", "aria-label": "Arms" }, drop),
        h("section", { class: "card", "aria-label": "The question" },
          field("name", "Name", this.name, "What you will call it."),
          field("bar", "The bar", this.bar, "A good arm's mean reward reaches it: 2%, or 0.02."),
          field("gap", "Typical distance from the bar", this.gap, "Only for the plan, if you have an idea: 1% says that arms lie around one point above or below."),
          field("delta", "Allowed error", this.delta, "The probability that any verdict is wrong."),
          h("h2", {}, "What it will take"), this.plan, this.problem, this.start)));
  }

  arms() {
    return this.dropped ?? fromLines(this.text.value);
  }

  /** @param {File | undefined} file */
  async read(file) {
    if (!file) return;
    this.dropped = fromCsv(await file.text());
    this.text.value = this.dropped.slice(0, 2000).map(({ id, label }) => label ?? id).join("\n");
    this.changed();
  }

  /** What would be sent; null where something is missing. */
  wish() {
    const [arms, threshold, delta] = [this.arms(), parseBar(this.bar.value), parseBar(this.delta.value)];
    if (!arms.length || threshold === null || delta === null) return null;
    return { name: this.name.value.trim(), arms, threshold, delta };
  }

  changed() {
    const arms = this.arms(), twice = doubled(arms);
    say(this.found, twice.length ? `${counted(arms.length, "arm")}; twice: ${twice.slice(0, 3).join(", ")}${twice.length > 3 ? ", …" : ""}` : arms.length ? counted(arms.length, "arm") : "");
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
    const gap = parseBar(this.gap.value);
    this.plan.replaceChildren(h("p", { class: "hint" }, "Working it out…"));
    try {
      /** @type {Plan} */
      const plan = await post("/api/v1/plan", { arms: arms.length, threshold, delta, ...(gap ? { gap } : {}) }, this.abort.signal);
      this.plan.replaceChildren(...planLines(plan, arms.length));
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

/** @param {Plan} plan @param {number} arms @returns {Node[]} */
function planLines(plan, arms) {
  const steps = /** @type {[string, number | null][]} */ ([["half of the arms", plan.half], ["eight in ten", plan.eighty], ["nine in ten", plan.ninety]]);
  const most = Math.max(...steps.map(([, pulls]) => pulls ?? 0), 1);
  const rows = steps.filter(([, pulls]) => pulls !== null && pulls !== undefined).map(([text, pulls]) =>
    h("li", {}, h("span", {}, text), h("meter", { min: "0", max: String(most), value: String(pulls), "aria-label": text }), h("span", {}, about(pulls ?? 0))));
  return [h("p", { class: "sentence" }, plan.sentence), rows.length ? h("ul", { class: "steps" }, ...rows) : h("span"),
    h("p", { class: "hint" }, `A plan for ${counted(arms, "arm")}, made by simulation.`)];
}
