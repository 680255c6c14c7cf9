// /openapi.json as a page: what one can ask, with which parameters, and what comes back.
import { element } from "/page/detail.js";

const main = document.getElementById("operations");
// What most people come for first; what is not named here comes after these, and then the session of a browser.
const ORDER = ["incidents", "actions", "site", "paths and components", "matrix", "coverage", "sql", "health"];
const LAST = "session";

function typeOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.anyOf) return schema.anyOf.filter((each) => each.type !== "null").map(typeOf).join(" | ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return schema.format || [schema.type].flat().join(" | ");
}

function table(names, rows) {
  const head = element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)));
  const body = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}

const bounds = ({ default: value }) => [undefined, null, ""].includes(value) || value.length === 0 ? "" : `default ${value}`;

const placeOf = (tag) => tag === LAST ? Infinity : ORDER.includes(tag) ? ORDER.indexOf(tag) : ORDER.length;

// [path, method, operation] by their tags, each tag in the order of the document.
function operationsOf({ paths }) {
  const all = Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, each]) => [path, method, each]));
  const tags = [...new Set(all.map(tagOf))].sort((a, b) => placeOf(a) - placeOf(b));
  return tags.map((tag) => [tag, all.filter((each) => tagOf(each) === tag)]);
}

const tagOf = ([, , { tags }]) => tags?.[0] ?? "others";
const idOf = (path, method) => `${method}-${path}`;

function contents(groups, documents) {
  const link = (id, text) => element("a", { href: `#${encodeURIComponent(id)}` }, text);
  const lists = groups.map(([tag, operations]) => element("div", {}, element("h2", {}, tag), element("ul", {}, ...operations.map(([path, method, each]) =>
    element("li", {}, link(idOf(path, method), `${method.toUpperCase()} ${path}`), element("small", { class: "quiet" }, ` ${each.summary || ""}`))))));
  return element("nav", { "aria-label": "Contents" }, ...lists,
    element("details", {}, element("summary", {}, `${documents.length} documents`), element("p", {}, ...documents.flatMap(([name]) => [link(`document-${name}`, name), " "]))));
}

function operation(path, method, { summary, parameters = [], responses }) {
  const rows = parameters.map((each) => [
    element("code", {}, each.name), typeOf(each.schema),
    [each.description || "", each.required ? "required" : bounds(each.schema)].filter(Boolean).join("; "),
  ]);
  const answers = Object.entries(responses).map(([status, each]) => [
    status, typeOf(Object.values(each.content || {})[0]?.schema), each.description,
  ]);
  const name = method !== "get" || path.includes("{") ? path : element("a", { href: path }, path);
  return element("section", { id: idOf(path, method) }, element("h2", {}, `${method.toUpperCase()} `, element("code", {}, name)),
    element("p", {}, summary || ""),
    rows.length ? table(["Parameter", "Type", "Meaning"], rows) : null,
    table(["Status", "Document", "Meaning"], answers));
}

function documentOf([name, schema]) {
  const rows = Object.entries(schema.properties || {}).map(([field, each]) =>
    [element("code", {}, field), typeOf(each), each.description || ""]);
  return element("section", { id: `document-${name}` }, element("h2", {}, name), element("pre", {}, schema.description || ""),
    element("details", {}, element("summary", {}, "Fields"), table(["Field", "Type", "Meaning"], rows)));
}

try {
  const api = await (await fetch("/openapi.json")).json();
  const groups = operationsOf(api);
  const documents = Object.entries(api.components.schemas);
  main.replaceChildren(contents(groups, documents),
    ...groups.flatMap(([, operations]) => operations.map((each) => operation(...each))), ...documents.map(documentOf));
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView(); // it was not there when the page came
} catch (why) {
  main.replaceChildren(`Not loaded: ${why.message}`);
}
