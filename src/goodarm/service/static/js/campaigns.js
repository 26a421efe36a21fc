/** The list of campaigns with their progress, and an introduction for newcomers. */
import { get } from "./api.js";
import { effort, headline, strip, titleOf } from "./bar.js";
import { h, say } from "./dom.js";
import { Forecast, outlook } from "./forecast.js";
import { age, count, counted, fullTime, since } from "./format.js";
import { mayWrite } from "./rights.js";
import { simulatedBy, startSimulation } from "./simulate.js";

/** @typedef {import("./types.js").Summary} Summary */
const EVERY = 3_000;
const FEW = 4; // campaigns that need no search

const QUIET = 3_600; // seconds without any change after which a running campaign seems to have stopped

/** Seconds since anything happened. @param {Summary} of */
const quiet = ({ changed_at }) => (changed_at ? (Date.now() - Date.parse(changed_at)) / 1000 : 0);

/**
 * The state of a campaign: how much it needs somebody, the class of its tag, and its words.
 * @param {Summary} of @returns {{need: number, kind: string, text: string}}
 */
function status(of) {
  const overdue = of.tally?.overdue ?? 0;
  if (of.ended) return { need: 0, kind: "", text: "ended" };
  if (overdue) return { need: 3, kind: "late", text: `${counted(overdue, "ticket")} overdue` };
  if (!of.open) return { need: 2, kind: "done", text: "every arm decided" };
  if (of.told && quiet(of) > QUIET) return { need: 1, kind: "still", text: `nothing new for ${age(quiet(of), "long")}` };
  if (!of.told) return { need: 0, kind: "", text: "no samples yet" };
  return { need: 0, kind: "", text: of.pending ? `running, ${counted(of.pending, "ticket")} pending` : "running" };
}

/** @param {Summary} of */
function card(of) {
  const title = titleOf(of);
  const link = h("a", { class: "stretched", href: `#/campaign/${encodeURIComponent(of.name)}` }, h("bdi", {}, title));
  const forecast = new Forecast();
  forecast.note(of);
  const { need, kind, text } = status(of);
  return h(
    "li",
    { class: `card campaign${need ? " needy" : ""}` },
    h("p", { class: "tags" }, h("span", { class: `tag ${kind}` }, text), simulatedBy(of) && h("span", { class: "tag simulated" }, "simulated")),
    h("h2", {}, link),
    headline(of),
    strip(of),
    h(
      "p",
      { class: "hint" },
      [effort(of), outlook(of, forecast)].filter(Boolean).join(" "),
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
  "needs attention first": (a, b) => status(b).need - status(a).need || started(a, b),
  "newest first": started,
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
