/** Elements without markup: every string becomes a text node, so a label can never become an element. */

/** @typedef {Node | string | number | null | undefined | false} Child */
const SVG = "http://www.w3.org/2000/svg";

/** @param {Element} element @param {Record<string, unknown>} attributes */
function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {Element} element @param {Child[]} children */
function fill(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * `h("a", {href: "#/", onclick: f}, "text", node)`.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Record<string, unknown>} [attributes] @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  set(element, attributes);
  fill(element, children);
  return element;
}

/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag @param {Record<string, unknown>} [attributes] @param {...Child} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  set(element, attributes);
  fill(element, children);
  return element;
}

/** Write text only if it changed. @param {Element} element @param {string} text */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element #${id}`);
  return found;
}

/** @param {string} text for screen readers */
export function announce(text) {
  say(byId("announce"), text);
}

/** A word with its explanation, for the pointer, the keyboard and screen readers. @param {string} word @param {string} meaning */
export function term(word, meaning) {
  const note = h("span", { class: "note", role: "tooltip", id: `note-${++notes}` }, meaning);
  return h("span", { class: "term" }, h("button", { type: "button", "aria-describedby": note.id }, word), note);
}
let notes = 0;

/** Copies text to the clipboard; without https, only the old API works. @param {string} text */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = h("textarea", { class: "unseen" });
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("This browser does not let the page copy.");
}

/** A button that copies text and confirms it. @param {string} label @param {() => string} text */
export function copyButton(label, text) {
  const button = h("button", {
    type: "button",
    onclick: () =>
      void copy(text()).then(
        () => done("Copied"),
        (error) => done(error.message),
      ),
  }, label);
  const done = (/** @type {string} */ said) => {
    say(button, said);
    announce(said);
    setTimeout(() => say(button, label), 2_000);
  };
  return button;
}
