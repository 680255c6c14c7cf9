// Details of an incident: evidence, alternatives, history. Text only, never markup.
import { factsOf } from "/page/evidence.js";

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const timeOf = (time) => time.toISOString().slice(11, 19);

// A time as its day (when that is not today) and time, in UTC like every log of the cluster.
export function moment(text) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  const day = time.toISOString().slice(0, 10);
  const today = new Date().toISOString().slice(0, 10);
  const words = day === today ? timeOf(time) : `${day} ${timeOf(time)}`;
  return element("time", { datetime: text, title: text }, words);
}

// How long ago, in the largest unit that fits.
export function age(text, now = Date.now()) {
  const seconds = Math.max(0, (now - Date.parse(text)) / 1000);
  if (!Number.isFinite(seconds)) return "";
  const [unit, size] = [["d", 86400], ["h", 3600], ["min", 60]].find(([, each]) => seconds >= each) || ["s", 1];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

export function detailOf({ incident, versions, children }) {
  const facts = factsOf(incident);
  const parts = [
    part("Verdict", list({
      [incident.issue_type ? "issue type" : "issue type, undecided"]: types(incident),
      direction: incident.direction === "both" ? "both ways" : incident.direction,
      "bad paths": !incident.paths_total ? "none: it is about no path" : `${number(incident.paths_bad)} over the whole incident, of ${number(incident.paths_total)} that cross it`,
      confidence: percent(incident.confidence),
      "p-value": pValue(incident.p_value),
      "indistinguishable from": incident.tie_set.filter((one) => one !== incident.component).join(", "),
      fabric: incident.fabric,
      jobs: incident.jobs.join(", "),
      tenants: incident.tenants.join(", "),
      strategy: incident.strategy,
    })),
    Object.keys(facts).length ? part(`Evidence of ${judgedAt(versions).slice(11, 19)} UTC`, list(facts)) : null,
    part("History", history(versions)),
    children.length ? part("Explains", element("ul", {}, ...children.map((child) =>
      element("li", {}, incidentLink(child.incident_id, `${child.component}: ${child.symptom.replaceAll("_", " ")}`), `, ${child.state}`)))) : null,
    incident.parent ? part("Explained by", element("p", {}, incidentLink(incident.parent, `incident ${incident.parent}`))) : null,
  ];
  const link = element("a", { href: `/api/v1/incidents/${encodeURIComponent(incident.incident_id)}` },
    `${incident.incident_id} as JSON`);
  return element("div", {}, element("div", { class: "parts" }, ...parts.filter(Boolean)), element("p", {}, link));
}

// When the verdict was made whose evidence an incident has: later versions may count more paths and keep it.
export function judgedAt(versions) {
  const text = versions.at(-1).evidence.text;
  let first = versions.length - 1;
  while (first > 0 && versions[first - 1].evidence.text === text) first -= 1;
  return versions[first].updated_at;
}

const number = (value) => value.toLocaleString("en");

export const incidentLink = (id, text) => element("a", { href: `/incidents/${encodeURIComponent(id)}` }, text);

// Rounded down: what is not certain is never shown as 100 %.
const percent = (probability) => `${Math.floor(1000 * probability + 1e-9) / 10} %`;

// 1e-300 stands for that or less; a verdict by rule has no test, and its p-value is 1.
function pValue(p) {
  if (p >= 1) return "none: decided by a rule";
  return p <= 1e-300 ? "< 1e-300" : p.toPrecision(2);
}

// Issue types with their probabilities, most probable first.
function types({ issue_type: stated, evidence }) {
  const known = Object.entries(evidence.issue_types ?? {}).sort(([, a], [, b]) => b - a);
  return known.length ? known.map(([name, p]) => `${name} ${percent(p)}`).join(", ") : stated;
}

const part = (title, content) => element("section", {}, element("h2", {}, title), content);

function list(values) {
  const made = element("dl");
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === "") continue;
    made.append(element("dt", {}, name.replaceAll("_", " ")), element("dd", {}, shown(value)));
  }
  return made;
}

function shown(value) {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object" || one === null)) {
    return element("ul", {}, ...value.map((one) => element("li", {}, String(one))));
  }
  if (typeof value === "object" && value !== null) return element("pre", {}, JSON.stringify(value, null, 1));
  return typeof value === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 6 }) : String(value);
}

// Each version with what changed in it.
function history(versions) {
  return element("ol", { class: "history" }, ...versions.map((each, index) => {
    const before = versions[index - 1];
    const changes = [];
    if (!before || before.component !== each.component) changes.push(`blames ${each.component}`);
    if (before && before.severity !== each.severity) changes.push(`severity ${each.severity}`);
    if (before && before.paths_bad !== each.paths_bad) changes.push(`${number(each.paths_bad)} of ${number(each.paths_total)} paths bad so far`);
    return element("li", {}, moment(each.updated_at),
      element("span", { class: "pill", "data-state": each.state }, each.state),
      element("span", {}, changes.join("; ") || (each.state === "resolved" ? "closed" : "confirmed")));
  }));
}
