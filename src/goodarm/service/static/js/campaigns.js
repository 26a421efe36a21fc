/** The list of campaigns with their progress, and an introduction for newcomers. */
import { get } from "./api.js";
import { effort, headline, strip, titleOf } from "./bar.js";
import { h, say } from "./dom.js";
import { Forecast } from "./forecast.js";
import { count, counted, fullTime, since } from "./format.js";
import { mayWrite } from "./rights.js";
import { simulatedBy, startSimulation } from "./simulate.js";

/** @typedef {import("./types.js").Summary} Summary */
const EVERY = 3_000;
const FEW = 4; // campaigns that need no search

/** The most important fact about a campaign. @param {Summary} of @returns {[string, string]} class and text */
function status(of) {
  const overdue = of.tally?.overdue ?? 0;
  if (of.ended) return ["", "ended"];
  if (overdue) return ["late", `${counted(overdue, "ticket")} overdue`];
  if (!of.open) return ["done", "every arm decided"];
  if (!of.told) return ["", "no samples yet"];
  return ["", of.pending ? `running, ${counted(of.pending, "ticket")} pending` : "running"];
}

/** @param {Summary} of */
function card(of) {
  const title = titleOf(of);
  const link = h("a", { class: "stretched", href: `#/campaign/${encodeURIComponent(of.name)}` }, h("bdi", {}, title));
  const forecast = new Forecast();
  forecast.note(of);
  const [kind, text] = status(of);
  return h(
    "li",
    { class: "card campaign" },
    h(
      "div",
      { class: "row" },
      h("h2", {}, link),
      h("span", { class: "tags" }, simulatedBy(of) && h("span", { class: "tag simulated" }, "simulated"), h("span", { class: `tag ${kind}` }, text)),
    ),
    headline(of),
    strip(of),
    h(
      "p",
      { class: "hint" },
      effort(of, forecast),
      " ",
      of.created_at &&
        h("time", { datetime: of.created_at, title: fullTime(of.created_at) }, `Started ${since(of.created_at)}.`),
    ),
  );
}

const collator = new Intl.Collator(undefined, { numeric: true });
const started = (/** @type {Summary} */ a, /** @type {Summary} */ b) => (b.created_at ?? "").localeCompare(a.created_at ?? "");
/** @type {Record<string, (a: Summary, b: Summary) => number>} */
const ORDERS = {
  "newest first": started,
  "overdue first": (a, b) => (b.tally?.overdue ?? 0) - (a.tally?.overdue ?? 0) || started(a, b),
  "nearest to the end": (a, b) => a.open / Math.max(a.arms, 1) - b.open / Math.max(b.arms, 1) || started(a, b),
  "most samples": (a, b) => b.told - a.told,
  "by name": (a, b) => collator.compare(titleOf(a), titleOf(b)),
};
/** @type {Record<string, (of: Summary) => boolean>} */
const STATES = {
  all: () => true,
  running: (of) => !of.ended && of.open > 0,
  overdue: (of) => (of.tally?.overdue ?? 0) > 0,
  decided: (of) => of.open === 0,
};

/** Search, state and order of the list; ended campaigns are folded away. */
class CampaignList {
  constructor() {
    this.campaigns = /** @type {Summary[]} */ ([]);
    const show = () => this.show();
    this.search = h("input", { type: "search", placeholder: "Search campaigns", "aria-label": "Search campaigns", oninput: show });
    this.state = "all";
    this.states = Object.keys(STATES).map((state) =>
      h("button", { type: "button", "aria-pressed": String(state === "all"), onclick: () => this.choose(state) }, state),
    );
    this.order = h("select", { "aria-label": "Order", onchange: show }, ...Object.keys(ORDERS).map((text) => h("option", {}, text)));
    this.found = h("span", { class: "hint found", role: "status" });
    const segments = h("div", { class: "segments", role: "group", "aria-label": "State" }, ...this.states);
    this.tools = h("div", { class: "selection list-tools" }, this.search, segments, this.order, this.found);
    this.running = h("ul", { class: "campaigns" });
    this.ended = h("ul", { class: "campaigns" });
    this.folded = h("summary", {});
    this.fold = h("details", { class: "ended" }, this.folded, this.ended);
    this.element = h("div", {}, this.tools, this.running, this.fold);
  }

  /** @param {string} state */
  choose(state) {
    this.state = state;
    for (const button of this.states) button.setAttribute("aria-pressed", String(button.textContent === state));
    this.show();
  }

  show() {
    const query = this.search.value.trim().toLocaleLowerCase();
    const matches = (/** @type {Summary} */ of) =>
      `${titleOf(of)}\n${of.name}`.toLocaleLowerCase().includes(query) && STATES[this.state]?.(of);
    const chosen = this.campaigns.filter(matches).sort(ORDERS[this.order.value]);
    const ended = chosen.filter((of) => of.ended);
    this.tools.hidden = this.campaigns.length <= FEW;
    const all = chosen.length === this.campaigns.length;
    say(this.found, all ? "" : `${count(chosen.length)} of ${count(this.campaigns.length)}`);
    this.running.replaceChildren(...chosen.filter((of) => !of.ended).map(card));
    this.ended.replaceChildren(...ended.map(card));
    say(this.folded, `${counted(ended.length, "campaign")} that ${ended.length === 1 ? "has" : "have"} ended`);
    this.fold.hidden = !ended.length;
    if (ended.length && (query || ended.length === chosen.length)) this.fold.open = true;
  }
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

function empty() {
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
    h("p", {}, "Start your own, or watch one with simulated rewards."),
  );
}

/** @returns {Promise<import("./types.js").View>} */
export async function campaignsView() {
  const { go, problem } = welcome();
  const start = h("a", { class: "button", href: "#/new" }, "New campaign");
  const actions = mayWrite() && h("div", { class: "actions" }, start, go);
  const found = new CampaignList();
  const list = h("div", {});
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
    found.campaigns = campaigns;
    const focused = list.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
    if (campaigns.length) found.show();
    const content = campaigns.length ? found.element : empty();
    if (list.firstChild !== content) list.replaceChildren(content);
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
