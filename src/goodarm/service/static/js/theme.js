/** Light, dark, or as the system has it; the choice stays in this browser. */

const NEXT = { system: "light", light: "dark", dark: "system" };
const SIGN = { system: "◐", light: "☀", dark: "☾" };
const dark = matchMedia("(prefers-color-scheme: dark)");
/** @typedef {keyof typeof NEXT} Theme */

const tell = () => window.dispatchEvent(new Event("goodarm-theme"));

/** @param {HTMLElement} button */
export function startTheme(button) {
  const stored = localStorage.getItem("goodarm-theme");
  let theme = /** @type {Theme} */ (stored && stored in NEXT ? stored : "system");
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    button.textContent = SIGN[theme];
    button.setAttribute("aria-label", `Theme: ${theme}. Change to ${NEXT[theme]}`);
    button.title = `Theme: ${theme}`;
    tell();
  };
  button.addEventListener("click", () => {
    theme = /** @type {Theme} */ (NEXT[theme]);
    localStorage.setItem("goodarm-theme", theme);
    apply();
  });
  dark.addEventListener("change", tell);
  apply();
}
