/**
 * One campaign's event stream. `fetch` instead of EventSource: the first request already carries Last-Event-ID, so
 * that nothing is lost between the snapshot and the stream; an error answer does not end it; silence is noticed.
 */
import { problemOf } from "./api.js";

const SILENCE = 40_000; // the server sends at least a comment every 15 s
const FIRST_WAIT = 500;
const LONGEST_WAIT = 8_000;

/** @typedef {{live: boolean, since: Date | null}} State */

/** Split a stream's text into events. @param {(id: string, data: string) => void} emit */
export function parser(emit) {
  let rest = "", id = "", data = /** @type {string[]} */ ([]);
  return (/** @type {string} */ text) => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? ["", "", ""];
      if (line === "") {
        if (data.length) emit(id, data.join("\n"));
        data = [];
      } else if (field === "id") id = value ?? "";
      else if (field === "data") data.push(value ?? "");
    }
  };
}

/**
 * Follow a stream until closed; reconnects by itself, from the last event seen; pauses while the tab is hidden.
 * @param {string} path @param {number} from
 * @param {(change: any) => void} onChange @param {(state: State) => void} onState
 * @returns {() => void} close
 */
export function follow(path, from, onChange, onState) {
  let last = String(from), wait = FIRST_WAIT, ended = false, running = false;
  let stale = /** @type {Date | null} */ (null);
  let abort = new AbortController();

  async function read() {
    const headers = { Accept: "text/event-stream", "Last-Event-ID": last };
    const response = await fetch(path, { headers, credentials: "same-origin", cache: "no-store", signal: abort.signal });
    if (!response.ok || !response.body) throw await problemOf(response);
    const feed = parser((id, data) => {
      if (id) last = id;
      onChange(JSON.parse(data));
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    [wait, stale] = [FIRST_WAIT, null];
    onState({ live: true, since: null });
    for (;;) {
      const watchdog = setTimeout(() => abort.abort(), SILENCE);
      const { done, value } = await reader.read().finally(() => clearTimeout(watchdog));
      if (done) return;
      feed(value);
    }
  }

  async function run() {
    running = true;
    while (!ended && !document.hidden) {
      abort = new AbortController();
      await read().catch(() => null);
      if (ended || document.hidden) break;
      stale ??= new Date();
      onState({ live: false, since: stale });
      await new Promise((resolve) => setTimeout(resolve, wait * (0.75 + Math.random() / 2)));
      wait = Math.min(wait * 2, LONGEST_WAIT);
    }
    running = false;
  }

  const wake = () => {
    if (document.hidden) abort.abort();
    else if (!running) void run();
  };
  document.addEventListener("visibilitychange", wake);
  void run();
  return () => {
    ended = true;
    abort.abort();
    document.removeEventListener("visibilitychange", wake);
  };
}
