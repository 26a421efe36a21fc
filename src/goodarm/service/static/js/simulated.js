/** The banner that says whose rewards these are, where they are made up. */
import { h, say } from "./dom.js";
import { count, counted } from "./format.js";
import { mayWrite } from "./rights.js";
import { isWrong, player, simulatedBy } from "./simulate.js";

/** @typedef {import("./types.js").Row} Row */

export class SimulatedBanner {
  /** @param {import("./types.js").Summary} summary */
  constructor(summary) {
    this.by = simulatedBy(summary);
    this.player = player(summary.name);
    this.ours = this.by === "page" && mayWrite();
    this.words = h("span");
    this.score = h("span", { class: "hint" });
    this.toggle = h("button", { type: "button", hidden: !this.ours, onclick: () => this.turn() });
    const tag = h("span", { class: "tag simulated" }, "simulated rewards");
    const attributes = { class: "card banner", "aria-label": "Simulated rewards", hidden: !this.by };
    this.element = h("section", attributes, tag, this.words, this.score, this.toggle);
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
    say(this.words, problem || (running ? playing : `The ${this.by} makes them up.`));
  }

  /** @param {Row[]} rows */
  show(rows) {
    const decided = rows.filter((row) => row.verdict !== "open");
    if (!this.ours || !decided.length) return;
    say(this.score, `${count(decided.filter(isWrong).length)} of ${counted(decided.length, "verdict")} wrong.`);
  }

  close() {
    clearInterval(this.timer);
  }
}
