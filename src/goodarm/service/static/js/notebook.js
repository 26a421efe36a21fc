/** The interval chart in a notebook: an entry for anywidget. `goodarm.integrations.notebook` joins it with its imports. */
import { colourFrom } from "./chart.js";
import { h } from "./dom.js";
import { scaleOf } from "./format.js";
import { IntervalChart, ranked } from "./intervals.js";

/** @typedef {{get: (name: string) => any, set: (name: string, value: unknown) => void, save_changes: () => void, on: (event: string, act: () => void) => void, off: (event: string, act: () => void) => void}} Model */

/** Whether the notebook is dark, according to JupyterLab or VS Code, otherwise to the system. */
function isDark() {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight) return jpThemeLight === "false";
  if (vscodeThemeKind) return vscodeThemeKind.includes("dark");
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** @param {{model: Model, el: HTMLElement}} place */
function render({ model, el }) {
  el.classList.add("goodarm-chart");
  el.dataset.theme = isDark() ? "dark" : "light";
  colourFrom(el);
  const summary = model.get("summary");
  const scale = scaleOf(summary);
  const words = h("p", { class: "sentence" });
  const chart = new IntervalChart(summary.question.bar, scale, (row) => {
    model.set("chosen", row.arm);
    model.save_changes();
  });
  const show = () => {
    words.textContent = model.get("sentence");
    const rows = model.get("rows").map((/** @type {any} */ row) => ({ ...row, verdict: ["bad", "open", "good"][row.sign + 1] }));
    chart.show(ranked(rows.filter((/** @type {any} */ row) => !scale.isReference(row))));
  };
  el.replaceChildren(words, h("div", { class: "drawing" }, chart.element));
  show();
  model.on("change:rows", show);
  return () => {
    model.off("change:rows", show);
    chart.close();
  };
}

export default { render };
