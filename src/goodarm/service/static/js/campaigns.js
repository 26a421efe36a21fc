/** The list of campaigns, with progress at a glance, and the door for newcomers. */
import { get } from "./api.js";
import { headline, strip, subline } from "./bar.js";
import { h } from "./dom.js";
import { counted, fullTime, since } from "./format.js";
import { mayWrite } from "./rights.js";
import { simulatedBy, startSimulation } from "./simulate.js";

/** @typedef {import("./types.js").Summary} Summary */
const EVERY = 3_000;

/** @param {Summary} of */
function card(of) {
  const name = h("a", { class: "stretched", href: `#/campaign/${encodeURIComponent(of.name)}` }, h("bdi", {}, of.name));
  return h(
    "li",
    { class: "card campaign" },
    h(
      "div",
      { class: "row" },
      h("h2", {}, name),
      simulatedBy(of) && h("span", { class: "tag simulated" }, "simulated"),
      of.ended && h("span", { class: "tag" }, "ended"),
      of.pending > 0 && h("span", { class: "tag" }, `${counted(of.pending, "ticket")} waiting`),
    ),
    headline(of, "p"),
    strip(of),
    h(
      "p",
      { class: "hint" },
      subline(of),
      " ",
      of.created_at &&
        h("time", { datetime: of.created_at, title: fullTime(of.created_at) }, `Started ${since(of.created_at)}.`),
    ),
  );
}

function welcome() {
  const problem = h("p", { class: "problem", role: "alert" });
  const go = h(
    "button",
    {
      class: "main",
      type: "button",
      onclick: async () => {
        go.disabled = true;
        try {
          location.hash = `#/campaign/${encodeURIComponent(await startSimulation())}`;
        } catch (error) {
          problem.textContent = error instanceof Error ? error.message : String(error);
          go.disabled = false;
        }
      },
    },
    "Try it with simulated rewards",
  );
  return { go, problem };
}

/** @param {Summary[]} campaigns */
function content(campaigns) {
  if (campaigns.length) return h("ul", { class: "campaigns" }, ...campaigns.map(card));
  return h(
    "div",
    { class: "card empty" },
    h("h2", {}, "Which of your options clear the bar?"),
    h(
      "p",
      {},
      "A campaign has arms (headlines, prompts, variants), a bar, and rewards that come in one by one. ",
      "It says which arm to try next, and calls each arm good or bad as soon as that is certain.",
    ),
    h("p", {}, "Start your own, or watch one that this page plays with rewards it makes up."),
  );
}

/** @returns {Promise<import("./types.js").View>} */
export async function campaignsView() {
  const { go, problem } = welcome();
  const start = h("a", { class: "button", href: "#/new" }, "New campaign");
  const actions = mayWrite() && h("div", { class: "actions" }, start, go);
  const list = h("div");
  const element = h(
    "section",
    {},
    h("div", { class: "row heading" }, h("h1", {}, "Campaigns"), actions),
    problem,
    list,
  );
  let before = "";
  const refresh = async () => {
    /** @type {{campaigns: Summary[]}} */
    const { campaigns } = await get("/api/v1/campaigns");
    const now = JSON.stringify(campaigns);
    if (now === before) return;
    before = now;
    campaigns.sort((a, b) => (b.created_at ?? "").localeCompare(a.created_at ?? ""));
    const focused = list.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
    list.replaceChildren(content(campaigns));
    start.classList.toggle("main", campaigns.length > 0); // newcomers try it first; others have work to do
    go.classList.toggle("main", campaigns.length === 0);
    if (focused) /** @type {HTMLElement | null} */ (list.querySelector(`a[href="${CSS.escape(focused)}"]`))?.focus();
  };
  await refresh();
  const timer = setInterval(() => {
    if (!document.hidden)
      refresh().then(
        () => stale(""),
        (error) => stale(error.message),
      );
  }, EVERY);
  const stale = (/** @type {string} */ text) => {
    problem.textContent = text && `${text} What you see may be old.`;
  };
  return { element, close: () => clearInterval(timer) };
}
