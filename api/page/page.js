// The live list. Everything from the server goes into the page as text, never as markup.
import { detailOf, element, moment, timeOf } from "/page/detail.js";

const PERIOD_MS = 1000;
const STALE_S = 60;
const LIMIT = 200;
const at = (id) => document.getElementById(id);

let page = { items: [], total: 0 };
let summary = null;
let shown = ""; // what the table was last drawn from
let known = null; // incident_id -> version, to tell what is news
let lostSince = null;
const details = new Map(); // incident_id of an open row -> its detail cell
const fresh = new Set();

async function ask(url) {
  const response = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(8000) });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.detail || `the server answered ${response.status}`);
  return answer;
}

async function refresh() {
  try {
    [page, summary] = await Promise.all([
      ask(`/api/v1/incidents?include_children=true&limit=${LIMIT}`),
      ask("/api/v1/summary"),
    ]);
    lostSince = null;
    announce();
  } catch (why) {
    lostSince = lostSince || { time: new Date(), why: why.message };
  }
  draw();
}

function announce() {
  const news = [];
  for (const each of page.items) {
    const before = known && known.get(each.incident_id);
    if (!known || each.parent) continue;
    if (before === undefined) {
      fresh.add(each.incident_id);
      news.push(`New incident ${each.severity}: ${each.component}, ${words(each.symptom)}.`);
    } else if (before.state !== each.state && each.state === "resolved") {
      news.push(`Resolved: ${each.component}.`);
    } else if (before.component !== each.component) {
      news.push(`Now blamed: ${each.component} instead of ${before.component}.`);
    }
  }
  known = new Map(page.items.map((each) => [each.incident_id, each]));
  if (news.length) at("news").textContent = news.join(" ");
}

const words = (name) => name.replaceAll("_", " ");

function matches(each, text, state) {
  if (state === "active" && each.state === "resolved") return false;
  if (state === "resolved" && each.state !== "resolved") return false;
  const hay = [each.component, each.symptom, words(each.symptom), each.issue_type, each.severity,
    each.state, each.layer, each.fabric, each.incident_id, ...each.tie_set, ...each.jobs,
    ...each.tenants, each.evidence.text].join("\n").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => hay.includes(word));
}

// Causes in their order, each followed by what it explains; a child without its parent stands alone.
function families(items) {
  const ids = new Set(items.map((each) => each.incident_id));
  const children = Map.groupBy ? Map.groupBy(items, (each) => each.parent) : group(items);
  return items
    .filter((each) => !each.parent || !ids.has(each.parent))
    .map((each) => [each, children.get(each.incident_id) || []]);
}

function group(items) {
  const groups = new Map();
  for (const each of items) groups.set(each.parent, [...(groups.get(each.parent) || []), each]);
  return groups;
}

function draw() {
  const lost = lostSince !== null;
  const stale = !lost && summary && summary.stored_age_s !== null && summary.stored_age_s > STALE_S;
  document.body.classList.toggle("lost", lost);
  const state = lost ? "lost" : stale ? "stale" : summary ? "live" : "waiting";
  at("connection").dataset.state = state;
  at("connection").lastElementChild.textContent =
    { lost: "connection lost", stale: "no new data", live: "live", waiting: "connecting" }[state];
  warn(state);
  if (!summary) return;
  const paths = summary.paths_watched;
  at("watched").textContent = paths ? `${paths.toLocaleString("en")} paths watched` : "no paths watched";
  drawTable(paths);
}

function warn(state) {
  const text = state === "lost"
    ? `Connection lost since ${timeOf(lostSince.time)} UTC (${lostSince.why}). Trying again; what is shown may be out of date.`
    : state === "stale"
      ? `No new measurements for ${Math.round(summary.stored_age_s / 60)} min. What is shown may be out of date.`
      : "";
  at("warning").hidden = !text;
  at("warning").dataset.state = state;
  if (at("warning").textContent !== text) at("warning").textContent = text;
}

function drawTable(paths) {
  const [text, state] = [at("filter").value.trim(), at("state").value];
  const rows = families(page.items).filter(([each, children]) =>
    [each, ...children].some((one) => matches(one, text, state)));
  const key = JSON.stringify([rows, [...details.keys()]]);
  at("count").textContent = `${rows.length} of ${families(page.items).length} incidents`;
  at("more").hidden = page.total <= page.items.length;
  at("more").textContent = `The newest ${page.items.length} of ${page.total} are shown; older ones are in /api/v1/incidents.`;
  at("empty").hidden = rows.length > 0;
  const [headline, small] = at("empty").children;
  headline.textContent = page.items.length ? "No incident matches" : "No incidents";
  small.textContent = page.items.length ? "Change the filter to see the others."
    : paths ? `${paths.toLocaleString("en")} paths watched, none of them to complain about.`
      : "No paths watched yet: waiting for the first measurements.";
  if (key === shown) return;
  shown = key;
  const focused = document.activeElement && document.activeElement.dataset.incident;
  at("incidents").replaceChildren(...rows.flatMap(([each, children]) => rowsOf(each, children)));
  if (focused) document.querySelector(`button[data-incident="${CSS.escape(focused)}"]`)?.focus();
  fresh.clear();
}

function rowsOf(each, children) {
  const id = each.incident_id;
  const open = details.has(id);
  const button = element("button", {
    type: "button", "data-incident": id, "aria-expanded": String(open), "aria-controls": `detail-${id}`,
  }, each.component);
  const ties = each.tie_set.filter((one) => one !== each.component);
  const row = element("tr", { class: `incident ${each.state}` },
    element("td", {}, element("span", { class: "pill", "data-state": each.state }, each.state)),
    element("td", {}, element("span", { class: "pill", "data-state": each.severity }, each.severity)),
    element("td", { class: "who" }, button,
      ties.length ? element("small", {}, `or ${ties.join(", ")}: probes cannot tell`) : null,
      children.length ? element("small", {}, `explains ${children.length} other${children.length > 1 ? "s" : ""}`) : null),
    element("td", { class: "what" }, words(each.symptom), element("br"), element("span", { class: "quiet" }, each.layer)),
    element("td", { class: "time" }, moment(each.opened_at)),
    element("td", { class: "number" }, seconds(each)),
    element("td", { class: "why" }, each.evidence.text || "—"));
  row.classList.toggle("new", fresh.has(id));
  row.addEventListener("click", (event) => {
    if (!String(getSelection()) || event.target === button) toggle(id);
  });
  if (!open) return [row];
  const cell = details.get(id);
  if (cell.dataset.version !== String(each.version)) fill(cell, id, each.version);
  return [row, element("tr", { class: "detail", id: `detail-${id}` }, cell)];
}

function seconds(each) {
  const taken = (Date.parse(each.detected_at) - Date.parse(each.opened_at)) / 1000;
  return Number.isFinite(taken) ? `${taken.toFixed(1)} s` : "—";
}

function toggle(id) {
  if (!details.delete(id)) details.set(id, element("td", { colspan: "7" }, "Loading …"));
  draw();
}

async function fill(cell, id, version) {
  cell.dataset.version = String(version);
  try {
    const found = await ask(`/api/v1/incidents/${encodeURIComponent(id)}`);
    cell.replaceChildren(detailOf(found));
  } catch (why) {
    delete cell.dataset.version;
    cell.replaceChildren(`Not loaded: ${why.message}`);
  }
}

async function watch() {
  if (!document.hidden) await refresh();
  setTimeout(watch, PERIOD_MS);
}

for (const [id, event] of [["filter", "input"], ["state", "change"]]) at(id).addEventListener(event, draw);
at("controls").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("visibilitychange", () => document.hidden || refresh());
watch();
