/** Where rewards are made up: whose they are, and how often verdicts and ordinary 95% intervals were wrong. */
import { get, url } from "./api.js";
import { h, say, term } from "./dom.js";
import { count, counted } from "./format.js";
import { mayWrite } from "./rights.js";
import { player, simulatedBy } from "./simulate.js";

/** @typedef {{verdicts: number, wrong: number, claims: number, wrong_claims: number}} Score */
const AGAIN = 2_000; // ms between two looks at the score
const ORDINARY =
  "The same rewards with ordinary 95% intervals, read after every reward. An arm is claimed as soon as its interval " +
  "leaves the bar. Such an interval is meant for one look at one arm.";

export class SimulatedBanner {
  /** @param {import("./types.js").Summary} summary */
  constructor(summary) {
    this.by = simulatedBy(summary);
    this.path = url(summary.name, "/score");
    this.player = player(summary.name);
    this.ours = this.by === "page" && mayWrite();
    this.looked = -AGAIN;
    this.words = h("span");
    this.verdicts = h("p", { class: "score" });
    this.claims = h("p", { class: "score" });
    this.toggle = h("button", { type: "button", hidden: !this.ours, onclick: () => this.turn() });
    const tag = h("span", { class: "tag simulated" }, "simulated rewards");
    this.scores = h(
      "div",
      { class: "scores", hidden: true },
      h("div", {}, h("h2", {}, "goodarm"), this.verdicts),
      h("div", {}, h("h2", {}, term("An ordinary 95% dashboard", ORDINARY)), this.claims),
    );
    const attributes = { class: "card banner", "aria-label": "Simulated rewards", hidden: !this.by };
    this.element = h("section", attributes, h("div", { class: "row" }, tag, this.words, this.toggle), this.scores);
    this.timer = setInterval(() => this.tell(), 500);
    this.tell();
  }

  turn() {
    if (this.player.running) this.player.stop();
    else this.player.start();
    this.tell();
  }

  tell() {
    const { running, problem } = this.player;
    const playing = "This page makes them up, asking and telling through the API as your program would.";
    say(this.toggle, running ? "Pause" : "Play on");
    say(this.words, problem || (running ? playing : `The ${this.by} makes them up, so the truth is known.`));
  }

  /** The score, if some time has passed since the last look. */
  async show() {
    if (!this.by || performance.now() - this.looked < AGAIN) return;
    this.looked = performance.now();
    /** @type {Score | null} */
    const score = await get(this.path).catch(() => null);
    if (!score) return;
    this.scores.hidden = false;
    const { verdicts, wrong, claims, wrong_claims } = score;
    this.verdicts.replaceChildren(figure(wrong), ` wrong so far, of ${counted(verdicts, "verdict")}`);
    this.claims.replaceChildren(figure(wrong_claims), ` wrong so far, of ${counted(claims, "claim")}`);
  }

  close() {
    clearInterval(this.timer);
  }
}

/** @param {number} wrong */
const figure = (wrong) => h("strong", { class: wrong ? "bad" : "good" }, count(wrong));
