/**
 * "Try it with simulated rewards": the page asks and tells through the API, as a user's program would. An arm's true
 * mean is a function of its id alone, so any tab can continue it. The server counts wrong verdicts.
 */
import { post, url } from "./api.js";

const BY_PAGE = "page"; // in the metadata of a campaign that a page plays
const THRESHOLD = 0.6;
const BATCH = 20;
const PAUSE = 100;
const MOST = 40_000;
const TONES = ["Plain", "Friendly", "Step by step", "With an example", "As a teacher", "In one sentence"];
const TASKS = ["summary", "translation", "bug report", "reply to a customer"];

/**
 * Whether the page or the server (`goodarm serve --demo`) simulates the rewards; null if they are real.
 * @param {import("./types.js").Summary} summary
 */
export function simulatedBy({ metadata }) {
  if (metadata?.simulated === BY_PAGE) return "page";
  return metadata?.simulated ? "server" : null;
}

/** A number in [0, 1) from a text (FNV-1a, then mixed). @param {string} text */
function fraction(text) {
  let hash = 0x811c9dc5;
  for (const letter of text) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
}

/** The simulated pass rate of an arm, between 25% and 99%. @param {string} arm */
export const truth = (arm) => 0.25 + 0.74 * fraction(arm) ** 0.7;

/** Creates the campaign and plays it in this tab. @returns {Promise<string>} its name */
export async function startSimulation() {
  const now = new Date().toISOString().slice(0, 19).replace("T", " ");
  const name = `Simulated prompts, ${now} UTC`;
  const salt = now.replaceAll(/[^0-9]/g, "").slice(-6);
  const arms = TASKS.flatMap((task, i) =>
    TONES.map((tone, j) => ({ id: `p${salt}-${i}${j}`, label: `${tone}: ${task}` })),
  );
  const means = Object.fromEntries(arms.map(({ id }) => [id, truth(id)]));
  const metadata = { simulated: BY_PAGE, measured: "pass rate", by: "this page", means };
  await post("/api/v1/campaigns", { name, arms, threshold: THRESHOLD, policy: "settle+gap-mixture", metadata });
  player(name).start();
  return name;
}

/** @typedef {{start: () => void, stop: () => void, running: boolean, problem: string}} Player */
const players = /** @type {Map<string, Player>} */ (new Map());

/** The one player of a campaign in this tab; it continues while other views are shown. @param {string} name */
export function player(name) {
  const known = players.get(name);
  if (known) return known;
  const made = {
    start: () => void play(made, name),
    stop: () => {
      made.running = false;
    },
    running: false,
    problem: "",
  };
  players.set(name, made);
  return made;
}

/** @param {Player} me @param {string} name */
async function play(me, name) {
  if (me.running) return;
  [me.running, me.problem] = [true, ""];
  try {
    for (let told = 0; me.running && told < MOST; told += BATCH) {
      const { tickets } = /** @type {{tickets: import("./types.js").Ticket[]}} */ (
        await post(url(name, "/ask"), { n: BATCH })
      );
      if (!tickets.length) break;
      const rewards = tickets.map(({ ticket, arm }) => ({ ticket, reward: Math.random() < truth(arm) ? 1 : 0 }));
      await post(url(name, "/tell-many"), { rewards });
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  } catch (error) {
    me.problem = error instanceof Error ? error.message : String(error);
  }
  me.running = false;
}
