/** Arms from pasted text, one per line, or from a CSV file with the columns id (or arm) and label. */

/** @typedef {import("./types.js").NewArm} NewArm */

/** One record per line, quotes as in RFC 4180. @param {string} text @param {string} comma @returns {string[][]} */
export function records(text, comma) {
  const rows = /** @type {string[][]} */ ([]);
  let row = /** @type {string[]} */ ([]),
    cell = "",
    quoted = false;
  const endCell = () => {
    row.push(cell.trim());
    cell = "";
  };
  const endRow = () => {
    endCell();
    if (row.some(Boolean)) rows.push(row);
    row = [];
  };
  for (let i = 0; i < text.length; i++) {
    const letter = text[i] ?? "";
    if (quoted) {
      if (letter !== '"') cell += letter;
      else if (text[i + 1] === '"') {
        cell += '"';
        i++;
      } else quoted = false;
    } else if (letter === '"' && cell.trim() === "") {
      quoted = true;
      cell = "";
    } else if (letter === comma) endCell();
    else if (letter === "\n" || letter === "\r") endRow();
    else cell += letter;
  }
  endRow();
  return rows;
}

/** Each typed or pasted line is one arm, including any commas. @param {string} text @returns {NewArm[]} */
export const fromLines = (text) =>
  text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter(Boolean)
    .map((id) => ({ id }));

/** @param {string} text @returns {NewArm[]} */
export function fromCsv(text) {
  const clean = text.replace(/^\uFEFF/, "");
  const firstLine = clean.slice(0, clean.search(/[\r\n]|$/));
  const comma = [";", "\t", ","].find((sign) => firstLine.includes(sign)) ?? ",";
  const rows = records(clean, comma);
  const heads = (rows[0] ?? []).map((cell) => cell.toLowerCase());
  const find = (/** @type {string[]} */ names) => heads.findIndex((head) => names.includes(head));
  const label = find(["label", "name", "title", "text", "headline"]),
    named = find(["id", "arm", "key"]);
  const headed = label >= 0 || named >= 0;
  const id = headed ? (named >= 0 ? named : label) : 0,
    words = headed ? label : 1;
  return rows
    .slice(headed ? 1 : 0)
    .filter((row) => row[id])
    .map((row) => {
      const [key, text] = [row[id] ?? "", words >= 0 ? row[words] : ""];
      return text && text !== key ? { id: key, label: text } : { id: key };
    });
}

/** Ids that occur more than once. @param {NewArm[]} arms */
export function doubled(arms) {
  const seen = new Set();
  return arms.filter(({ id }) => seen.has(id) || !seen.add(id)).map(({ id }) => id);
}
