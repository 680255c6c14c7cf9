// /openapi.json as a page: what one can ask, with which parameters, and what comes back.
import { element } from "/page/detail.js";

const main = document.getElementById("operations");

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

function operation(path, { summary, parameters = [], responses }) {
  const rows = parameters.map((each) => [
    element("code", {}, each.name), typeOf(each.schema),
    [each.description || "", each.required ? "required" : bounds(each.schema)].filter(Boolean).join("; "),
  ]);
  const answers = Object.entries(responses).map(([status, each]) => [
    status, typeOf(Object.values(each.content || {})[0]?.schema), each.description,
  ]);
  const name = path.includes("{") ? path : element("a", { href: path }, path);
  return element("section", {}, element("h2", {}, "GET ", element("code", {}, name)),
    element("p", {}, summary || ""),
    rows.length ? table(["Parameter", "Type", "Meaning"], rows) : null,
    table(["Status", "Document", "Meaning"], answers));
}

function documentOf([name, schema]) {
  const rows = Object.entries(schema.properties || {}).map(([field, each]) =>
    [element("code", {}, field), typeOf(each), each.description || ""]);
  return element("section", {}, element("h2", {}, name), element("pre", {}, schema.description || ""),
    element("details", {}, element("summary", {}, "Fields"), table(["Field", "Type", "Meaning"], rows)));
}

try {
  const api = await (await fetch("/openapi.json")).json();
  main.replaceChildren(
    ...Object.entries(api.paths).map(([path, methods]) => operation(path, methods.get)),
    ...Object.entries(api.components.schemas).map(documentOf));
} catch (why) {
  main.replaceChildren(`Not loaded: ${why.message}`);
}
