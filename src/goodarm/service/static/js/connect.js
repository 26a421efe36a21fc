/** How to feed a campaign that has no samples yet: from a shell, Python or a browser, with this address and name. */
import { url } from "./api.js";
import { copyButton, h, say } from "./dom.js";

/** @param {import("./types.js").Summary} summary @param {boolean} guarded whether requests need a token */
function programs({ name, question }, guarded) {
  const root = new URL(".", location.href).href.replace(/\/$/, "");
  const path = new URL(url(name), location.href).href.replaceAll("'", "%27");
  const record = (question.bars ?? []).map(({ metric }) => `${JSON.stringify(metric)}: 1`);
  const number = question.shares ? "1" : "9.7";
  const example = record.length ? `{${record.join(", ")}}` : number;
  const secret = guarded ? ` \\\n  -H "Authorization: Bearer $GOODARM_TOKEN"` : "";
  const header = guarded ? `, Authorization: "Bearer TOKEN"` : "";
  const curl = (/** @type {string} */ verb, /** @type {string} */ body) =>
    `curl '${path}/${verb}' \\\n  -H 'Content-Type: application/json'${secret} \\\n  -d '${body.replaceAll("'", "\\u0027")}'`;
  return {
    Shell: [
      curl("ask", '{"n": 1}'),
      "# the answer names a ticket and an arm: show this arm, then tell its reward",
      curl("tell", `{"ticket": "TICKET", "reward": ${example}}`),
    ].join("\n"),
    Python: [
      "from goodarm import Campaign",
      "",
      ...(guarded ? ["# reads the token from GOODARM_TOKEN"] : []),
      `campaign = Campaign.open(${JSON.stringify(root)}, ${JSON.stringify(name)})`,
      "while tickets := campaign.ask(10):",
      "    for ticket in tickets:",
      `        reward = measure(ticket.arm)  # yours: for example ${example}`,
      "        campaign.tell(ticket, reward)",
      "print(campaign)",
    ].join("\n"),
    JavaScript: [
      `const campaign = ${JSON.stringify(path)};`,
      "const post = (verb, body) => fetch(`${campaign}/${verb}`, {",
      `  method: "POST", headers: { "Content-Type": "application/json"${header} }, body: JSON.stringify(body),`,
      "}).then((answer) => answer.json());",
      "",
      'const { tickets } = await post("ask", { n: 10 });',
      "for (const { ticket, arm } of tickets)",
      `  await post("tell", { ticket, reward: await measure(arm) }); // yours: for example ${example}`,
    ].join("\n"),
  };
}

/** @param {import("./types.js").Summary} summary */
export function connect(summary) {
  const texts = Object.entries(programs(summary, Boolean(localStorage.getItem("goodarm-login"))));
  const code = h("code");
  let shown = "";
  const buttons = texts.map(([title, text]) =>
    h("button", { type: "button", onclick: () => choose(title, text) }, title),
  );
  const choose = (/** @type {string} */ title, /** @type {string} */ text) => {
    shown = text;
    say(code, text);
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.textContent === title)));
  };
  const [first] = texts;
  if (first) choose(...first);
  return h(
    "section",
    { class: "card wide connect", "aria-label": "Feed it" },
    h("div", { class: "row" }, h("h2", {}, "Feed it"), h("div", { class: "segments", role: "group", "aria-label": "Language" }, ...buttons)),
    h("p", { class: "hint" }, "No reward has been told yet. Your program asks which arm to try and tells its reward."),
    h("pre", { tabindex: "0", role: "region", "aria-label": "Program" }, code),
    h("div", { class: "actions" }, copyButton("Copy", () => shown)),
  );
}
