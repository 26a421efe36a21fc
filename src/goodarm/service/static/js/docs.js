/** The HTTP API as a page, drawn from the server's OpenAPI document without external resources. */
import { byId, copyButton, h } from "./dom.js";
import { startTheme } from "./theme.js";

/** @typedef {Record<string, any>} Json */
const DOCUMENT = new URL("../api/v1/openapi.json", location.href);
const ROOT = new URL("../", location.href).href.replace(/\/$/, "");

/** @param {Json} schemas @param {Json} schema @returns {Json} */
const resolved = (schemas, schema) => (schema?.$ref ? schemas[schema.$ref.split("/").at(-1)] ?? {} : schema ?? {});

/** A type in words. @param {Json} schemas @param {Json} schema @returns {string} */
function typeOf(schemas, schema) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.anyOf) return [...new Set(schema.anyOf.map((/** @type {Json} */ each) => typeOf(schemas, each)))].join(" or ");
  if (schema.enum) return schema.enum.map((/** @type {unknown} */ each) => JSON.stringify(each)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === "array") return `list of ${typeOf(schemas, schema.items ?? {})}`;
  return schema.type ?? "anything";
}

/** An example of a body: the first example of each field that is required or has one. @param {Json} schemas @param {Json} schema @returns {unknown} */
function example(schemas, schema) {
  const known = resolved(schemas, schema);
  const given = known.examples?.[0];
  if (given !== undefined && given !== null) return given;
  if (known.default !== undefined && known.default !== null) return known.default;
  if (known.properties) {
    const needed = new Set(known.required ?? []);
    const fields = Object.entries(/** @type {Record<string, Json>} */ (known.properties));
    const wanted = fields.filter(([name, each]) => needed.has(name) || (each.examples?.[0] ?? null) !== null);
    return Object.fromEntries(wanted.map(([name, each]) => [name, example(schemas, each)]));
  }
  if (known.anyOf) return example(schemas, known.anyOf[0]);
  if (known.type === "array") return [example(schemas, known.items ?? {})];
  return { string: "…", integer: 1, number: 1, boolean: true, object: {} }[/** @type {"string"} */ (known.type)] ?? null;
}

/** @param {string[]} heads @param {(string | Node)[][]} rows */
const table = (heads, rows) =>
  h(
    "div",
    { class: "scroll-x", tabindex: "0", role: "group", "aria-label": heads.join(", ") },
    h(
      "table",
      { class: "fields" },
      h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((each) => h("td", {}, each))))),
    ),
  );

/** The fields of an object. @param {Json} schemas @param {Json} schema */
function fields(schemas, schema) {
  const known = resolved(schemas, schema);
  const needed = new Set(known.required ?? []);
  const entries = Object.entries(/** @type {Record<string, Json>} */ (known.properties ?? {}));
  if (!entries.length) return h("p", { class: "hint" }, typeOf(schemas, schema));
  return table(
    ["field", "type", "meaning"],
    entries.map(([name, each]) => [
      h("code", {}, name),
      `${typeOf(schemas, each)}${needed.has(name) ? "" : ", optional"}`,
      each.description ?? resolved(schemas, each).description ?? "",
    ]),
  );
}

/** @param {string} method @param {string} path @param {Json} route @param {Json} schemas */
function request(method, path, route, schemas) {
  const schema = route.requestBody?.content?.["application/json"]?.schema;
  const body = schema ? JSON.stringify(example(schemas, schema)).replaceAll("'", "\\u0027") : "";
  const verb = method === "get" || (method === "post" && body) ? "" : ` -X ${method.toUpperCase()}`;
  const token = route["x-role"] === "none" ? "" : ` \\\n  -H "Authorization: Bearer $GOODARM_TOKEN"`;
  const sent = body ? ` \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'` : "";
  return `curl${verb} '${ROOT}${path.replaceAll("{name}", "headlines")}'${token}${sent}`;
}

/** @param {string} method @param {string} path @param {Json} route @param {Json} schemas */
function operation(method, path, route, schemas) {
  const text = request(method, path, route, schemas);
  const body = route.requestBody?.content?.["application/json"]?.schema;
  const parameters = /** @type {Json[]} */ (route.parameters ?? []);
  const answers = Object.entries(/** @type {Record<string, Json>} */ (route.responses ?? {}));
  const good = answers.find(([status]) => status.startsWith("2"))?.[1]?.content?.["application/json"]?.schema;
  const refusals = answers.filter(([status]) => !status.startsWith("2"));
  return h(
    "details",
    { class: "operation", "data-text": `${method} ${path} ${route.description ?? ""}`.toLowerCase() },
    h("summary", {}, h("span", { class: `method ${method}` }, method.toUpperCase()), " ", h("code", {}, path), " ", h("span", { class: "hint" }, `${route.deprecated ? "Deprecated. " : ""}${/^[^.]*\.?/.exec(route.description ?? "")?.[0] ?? ""}`)),
    h("p", {}, route.description ?? ""),
    h("p", { class: "hint" }, route["x-role"] === "none" ? "No token is needed." : `Needs the role ${route["x-role"]}, if the server has tokens.`),
    h("pre", { tabindex: "0", role: "group", "aria-label": "Request" }, h("code", {}, text)),
    h("div", { class: "actions" }, copyButton("Copy", () => text)),
    ...(parameters.length
      ? [
          h("h3", {}, "Parameters"),
          table(
            ["name", "where", "type", "meaning"],
            parameters.map((each) => [
              h("code", {}, each.name),
              each.in,
              `${typeOf(schemas, each.schema ?? {})}${each.required ? "" : ", optional"}`,
              each.description ?? each.schema?.description ?? "",
            ]),
          ),
        ]
      : []),
    ...(body ? [h("h3", {}, `Body: ${typeOf(schemas, body)}`), fields(schemas, body)] : []),
    ...(good ? [h("h3", {}, `Answer: ${typeOf(schemas, good)}`), fields(schemas, good)] : []),
    ...(refusals.length ? [h("h3", {}, "Other answers"), table(["status", "meaning"], refusals.map(([status, each]) => [status, each.description ?? ""]))] : []),
  );
}

async function show() {
  const response = await fetch(DOCUMENT, { credentials: "same-origin" });
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  const { paths, components, info } = /** @type {Json} */ (await response.json());
  const schemas = components?.schemas ?? {};
  /** @type {Map<string, HTMLElement[]>} */
  const topics = new Map();
  for (const [path, methods] of Object.entries(/** @type {Record<string, Json>} */ (paths)))
    for (const [method, route] of Object.entries(/** @type {Record<string, Json>} */ (methods))) {
      const topic = route.tags?.[0] ?? "other";
      topics.set(topic, [...(topics.get(topic) ?? []), operation(method, path, route, schemas)]);
    }
  const search = h("input", {
    type: "search",
    placeholder: "Search requests",
    "aria-label": "Search requests",
    oninput: () => {
      for (const each of document.querySelectorAll(".operation"))
        /** @type {HTMLElement} */ (each).hidden = !/** @type {HTMLElement} */ (each).dataset.text?.includes(search.value.trim().toLowerCase());
    },
  });
  byId("main").replaceChildren(
    h("h1", {}, "HTTP API"),
    h("p", { class: "terms lead" }, `goodarm ${info.version}. Bodies and answers are JSON. The same as a document: `, h("a", { href: DOCUMENT.href }, "openapi.json")),
    h("div", { class: "selection list-tools" }, search),
    ...[...topics].map(([topic, operations]) => h("section", { class: "card topic", "aria-label": topic }, h("h2", {}, `${topic[0]?.toUpperCase()}${topic.slice(1)}`), ...operations)),
  );
}

startTheme(byId("theme"));
show().catch((error) => byId("main").replaceChildren(h("h1", {}, "HTTP API"), h("p", { class: "problem", role: "alert" }, error.message)));
