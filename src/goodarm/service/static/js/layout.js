/**
 * Where arms lie on the chart's axis. Arms whose interval says something have a place each: good ones, undecided ones, bad
 * ones. Arms with too few samples for that share a narrow strip at the end, however many they are.
 */

/** @typedef {import("./types.js").Row} Row */
/** @typedef {{kind: "good" | "open" | "bad" | "few", many: number, from: number, to: number}} Section */
const WIDE = 0.75; // share of the scale from which an interval says next to nothing
const FEWEST = 4; // arms that make a strip
const SMALL = 12; // arms up to which each has its place
const KNOWN = 3; // arms that must remain outside of the strip
const LEAST = 0.12; // share of the axis that a strip takes
const MOST = 0.22;
const GAP = 0.015; // between the bars and the strip

/** Whether an arm has too few samples for an interval on this scale. @param {Row} row @param {[number, number]} range */
export const isWide = ({ verdict, low, high }, [bottom, top]) =>
  verdict === "open" && low !== null && high !== null && high - low >= WIDE * (top - bottom);

export class Layout {
  /** @param {Row[]} every arm, in order @param {[number, number]} range */
  constructor(every, range) {
    const isFew = (/** @type {Row} */ row) => (row.verdict === "open" && row.mean === null) || isWide(row, range);
    const few = every.length > SMALL ? every.filter(isFew) : [];
    const strip = few.length >= FEWEST && every.length - few.length >= KNOWN;
    const main = strip ? every.filter((row) => !isFew(row)) : every;
    this.main = main.length; // arms with a place each
    this.rows = strip ? [...main, ...few] : every;
    const share = Math.min(Math.max(few.length / every.length, LEAST), MOST);
    const wide = strip ? (main.length * share) / (1 - share) : 0;
    this.start = main.length + 0.5 + (strip ? Math.max(GAP * main.length, 0.5) : 0); // of the strip
    this.step = strip ? wide / few.length : 1; // of an arm in the strip
    this.end = strip ? this.start + wide : Math.max(main.length, 1) + 0.5;
    this.sections = sectionsOf(main, few.length && strip ? [this.start, this.end, few.length] : null);
  }

  /** @param {number} i from 0 */
  place(i) {
    return i < this.main ? i + 1 : this.start + (i - this.main + 0.5) * this.step;
  }

  /** The arm nearest to a place, from 0. @param {number} x */
  at(x) {
    const inStrip = this.rows.length > this.main && x > (this.main + 0.5 + this.start) / 2;
    const i = inStrip ? this.main + Math.floor((x - this.start) / this.step) : Math.round(x) - 1;
    const [first, last] = inStrip ? [this.main, this.rows.length - 1] : [0, this.main - 1];
    return Math.min(Math.max(i, first), Math.max(last, first));
  }
}

/** @param {Row[]} main @param {[number, number, number] | null} strip @returns {Section[]} */
function sectionsOf(main, strip) {
  let from = 0.5;
  const made = /** @type {const} */ (["good", "open", "bad"]).map((kind) => {
    const many = main.filter((row) => row.verdict === kind).length;
    const section = { kind, many, from, to: from + many };
    from = section.to;
    return section;
  });
  const last = strip ? [{ kind: /** @type {const} */ ("few"), many: strip[2], from: strip[0], to: strip[1] }] : [];
  return [...made, ...last].filter(({ many }) => many > 0);
}
