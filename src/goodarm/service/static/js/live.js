/**
 * One campaign's event stream. `fetch` instead of EventSource: the first request already carries Last-Event-ID, so
 * that nothing is lost between the snapshot and the stream; error responses do not end it, and silence is detected.
 */
import { parsed, problemOf } from "./api.js";

const SILENCE = 40_000; // the server sends at least a comment every 15 s
const FIRST_WAIT = 500;
const LONGEST_WAIT = 8_000;

/** @typedef {{live: boolean, since: Date | null}} State */

/** Split a stream's text into events. @param {(id: string, data: string) => void} emit */
export function parser(emit) {
  let [rest, id] = ["", ""];
  let data = /** @type {string[]} */ ([]);
  return (/** @type {string} */ text) => {
    const lines = (rest + text).split(/\r\n|\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [, field, value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (field === "id") id = value;
      else if (field === "data") data.push(value);
      else if (line === "" && data.length) {
        emit(id, data.join("\n"));
        data = [];
      }
    }
  };
}

/** Follows a stream until closed. It reconnects from the last event seen, and pauses while the tab is hidden. */
export class Stream {
  /**
   * @param {string} path @param {number} from journal number of what is already shown
   * @param {(change: any) => void} onChange @param {(state: State) => void} onState
   */
  constructor(path, from, onChange, onState) {
    this.path = path;
    this.last = String(from);
    this.onChange = onChange;
    this.onState = onState;
    this.wait = FIRST_WAIT;
    this.stale = /** @type {Date | null} */ (null);
    this.ended = this.running = false;
    this.abort = new AbortController();
    this.wake = () => (document.hidden ? this.abort.abort() : void this.run());
    document.addEventListener("visibilitychange", this.wake);
    void this.run();
  }

  async run() {
    if (this.running) return;
    this.running = true;
    while (!this.ended && !document.hidden) {
      await this.read().catch(() => null);
      if (this.ended || document.hidden) break;
      this.stale ??= new Date();
      this.onState({ live: false, since: this.stale });
      await new Promise((resolve) => setTimeout(resolve, this.wait * (0.75 + Math.random() / 2)));
      this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
    }
    this.running = false;
  }

  /** One connection, until it ends. */
  async read() {
    this.abort = new AbortController();
    const headers = { Accept: "text/event-stream", "Last-Event-ID": this.last };
    const { signal } = this.abort;
    const response = await fetch(this.path, { headers, credentials: "same-origin", cache: "no-store", signal });
    if (!response.ok || !response.body) throw await problemOf(response);
    const feed = parser((id, data) => {
      this.last = id || this.last;
      this.onChange(parsed(data));
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    this.wait = FIRST_WAIT;
    this.stale = null;
    this.onState({ live: true, since: null });
    for (;;) {
      const watchdog = setTimeout(() => this.abort.abort(), SILENCE);
      const { done, value } = await reader.read().finally(() => clearTimeout(watchdog));
      if (done) return;
      feed(value);
    }
  }

  close() {
    this.ended = true;
    this.abort.abort();
    document.removeEventListener("visibilitychange", this.wake);
  }
}
