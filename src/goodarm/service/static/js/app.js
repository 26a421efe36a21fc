/** The page's frame: the current view, login, and theme. */
import { get, post, Problem } from "./api.js";
import { armView } from "./arm.js";
import { campaignView } from "./campaign.js";
import { campaignsView } from "./campaigns.js";
import { createView } from "./create.js";
import { byId, h, say } from "./dom.js";
import { loginView } from "./login.js";
import { startTheme } from "./theme.js";

/** @typedef {import("./types.js").View} View */
/** @typedef {{text: string, href?: string}} Crumb */

const PATIENCE = 400; // ms after which a page that is not there yet says so
const HOME = { text: "goodarm", href: "#/" };
let current = /** @type {View | null} */ (null);
let turn = 0;

/** Decode a part of the address, which may be malformed. @param {string} part */
function plain(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @param {string} hash @returns {{crumbs: Crumb[], make: () => Promise<View> | View}} */
function route(hash) {
  const parts = hash.replace(/^#\/?/, "").split("/").map(plain);
  const [head, name = "", arms, arm = ""] = parts;
  const campaign = { text: name, href: `#/campaign/${encodeURIComponent(name)}` };
  if (head === "campaign" && arms === "arm")
    return { crumbs: [HOME, campaign, { text: arm }], make: () => armView(name, arm) };
  if (head === "campaign" && name) return { crumbs: [HOME, { text: name }], make: () => campaignView(name) };
  if (head === "new") return { crumbs: [HOME, { text: "New campaign" }], make: () => createView() };
  return { crumbs: [HOME], make: () => campaignsView() };
}

/** @param {Crumb[]} crumbs */
function showCrumbs(crumbs) {
  const items = crumbs.map(({ text, href }, i) =>
    h(
      "li",
      {},
      href && i < crumbs.length - 1
        ? h("a", { href }, h("bdi", {}, text))
        : h("span", { "aria-current": "page" }, h("bdi", {}, text)),
    ),
  );
  byId("crumbs").replaceChildren(...items);
  document.title = crumbs
    .map(({ text }) => text)
    .reverse()
    .join(" · ");
}

/** @param {unknown} error @returns {View} */
function sorry(error) {
  const message = error instanceof Error ? error.message : String(error);
  const missing = error instanceof Problem && error.status === 404;
  const again = h("button", { type: "button", onclick: () => void show() }, "Try again");
  const home = h("a", { class: "button", href: HOME.href }, "All campaigns");
  return {
    element: h(
      "section",
      { class: "card empty", role: "alert" },
      h("h1", {}, missing ? "Not found" : "This did not work"),
      h("p", {}, `${message[0]?.toUpperCase() ?? ""}${message.slice(1)}`),
      h("div", { class: "actions" }, home, again),
    ),
  };
}

/** @param {View} view */
function place(view) {
  current?.close?.();
  current = view;
  byId("main").replaceChildren(view.element);
}

async function show() {
  const mine = ++turn;
  const { crumbs, make } = route(location.hash);
  say(byId("live"), "");
  byId("live").className = "live";
  showCrumbs(crumbs);
  const slow = setTimeout(() => place({ element: h("p", { class: "hint", role: "status" }, "Loading…") }), PATIENCE);
  /** @type {View} */
  let view;
  try {
    view = await make();
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return;
    view = sorry(error);
  } finally {
    clearTimeout(slow);
  }
  if (mine !== turn) view.close?.();
  else place(view);
}

function login() {
  turn++;
  localStorage.removeItem("goodarm-login");
  byId("logout").hidden = true;
  place(loginView(start));
}

async function start() {
  const me = await get("/api/v1/me").catch((error) => (error.status === 401 ? null : {}));
  if (!me) return;
  document.documentElement.dataset.role = me.role ?? "admin";
  byId("logout").hidden = !localStorage.getItem("goodarm-login");
  await show();
}

addEventListener("hashchange", () => {
  scrollTo(0, 0);
  void show().then(() => byId("main").focus({ preventScroll: true }));
});
addEventListener("goodarm-login", login);
byId("logout").addEventListener("click", () => void post("/logout").then(login, login));
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
startTheme(byId("theme"));
void start();
