// The live list. Everything from the server goes into the page as text, never as markup.
import { handledOf } from "/page/actions.js";
import { ask } from "/page/ask.js";
import { coverageOf } from "/page/coverage.js";
import { age, detailOf, element, incidentLink, moment, timeOf } from "/page/detail.js";
import { showActive, staleness, warn } from "/page/shell.js";
import { SEVERITIES, SIZE, apiUrl, changed, counted, pageUrl, readView } from "/page/view.js";

const PERIOD_MS = 1000;
const PERIOD_LISTENING_MS = 5000; // while the server sends new versions by itself
const SETTLE_MS = 150; // versions that are stored together are asked for once
const LONGEST_MS = 10_000;
const TYPING_MS = 200;
const COVERAGE_MS = 15_000;
const ARRIVAL_MS = 300_000; // what was found so long before the newest known has only moved up here
const at = (id) => document.getElementById(id);

let view = readView();
let page = { items: [], total: 0, counts: {}, explains: {}, handling: {} };
let summary = null;
let coverage = { items: [], key: "", askedAt: -Infinity };
let asked = 0; // the newest request; an older answer is not shown
let typing = null;
let shown = ""; // what the table was last drawn from
let known = null; // incident_id -> version, to detect new versions
let lostSince = null;
const details = new Map(); // incident_id of an open row -> its detail cell
const fresh = new Set();

async function refresh() {
  const mine = ++asked;
  try {
    const answers = await Promise.all([ask(apiUrl(view)), ask("/api/v1/summary")]);
    if (mine !== asked) return;
    [page, summary] = answers;
    lostSince = null;
    const last = Math.max(1, Math.ceil(page.total / SIZE));
    if (view.page > last) return show({ ...view, page: last }, { replace: true });
    announce();
  } catch (why) {
    if (mine !== asked) return;
    lostSince = lostSince || { time: new Date(), why: why.message };
  }
  draw();
}

// Not a part of every refresh: it changes once a minute. Without it the page shows the incidents all the same.
async function refreshCoverage() {
  if (performance.now() - coverage.askedAt < COVERAGE_MS) return;
  coverage.askedAt = performance.now();
  const { items } = await ask("/api/v1/coverage").catch(() => coverage);
  const key = JSON.stringify(items);
  if (key === coverage.key) return;
  const open = new Set([...at("coverage").children].flatMap((each, index) => each.open ? [index] : []));
  coverage = { ...coverage, items, key };
  at("coverage").replaceChildren(...coverageOf(items));
  [...at("coverage").children].forEach((each, index) => { each.open = open.has(index); });
}

// Another view: its address goes into the history, what it holds is asked for, none of it is news.
function show(wanted, { replace = false } = {}) {
  view = wanted;
  history[replace ? "replaceState" : "pushState"](null, "", pageUrl(view));
  known = null;
  drawControls();
  return refresh();
}

function announce() {
  const news = [];
  const newest = Math.max(-Infinity, ...[...(known || new Map()).values()].map((each) => Date.parse(each.detected_at)));
  for (const each of page.items) {
    const before = known && known.get(each.incident_id);
    if (!known || each.parent) continue;
    if (before === undefined) {
      if (each.state === "resolved" || Date.parse(each.detected_at) < newest - ARRIVAL_MS) continue;
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

function draw() {
  const lost = lostSince !== null;
  const stale = !lost && summary && staleness(summary);
  document.body.classList.toggle("lost", lost);
  const state = lost ? "lost" : stale ? "stale" : summary ? "live" : "waiting";
  at("connection").dataset.state = state;
  at("connection").lastElementChild.textContent =
    { lost: "connection lost", stale: "no new data", live: "live", waiting: "connecting" }[state];
  warn(lost
    ? `Connection lost since ${timeOf(lostSince.time)} UTC (${lostSince.why}). Trying again; what is shown may be out of date.`
    : stale || "", state);
  if (!summary) return;
  const paths = summary.paths_watched;
  at("watched").textContent = paths ? `${number(paths)} paths watched` : "no paths watched";
  drawActive();
  drawControls();
  drawTable(paths);
  for (const each of document.querySelectorAll(".age")) each.textContent = age(each.dataset.since);
}

const number = (value) => value.toLocaleString("en");

// All active incidents, whether or not the filter shows them.
function drawActive() {
  const found = SEVERITIES.filter((each) => summary.active[each]);
  const key = JSON.stringify(summary.active);
  showActive(summary.active);
  if (at("active").dataset.key === key) return;
  at("active").dataset.key = key;
  at("active").replaceChildren(...found.map((each) => element("a", {
    class: "pill", "data-state": each, href: pageUrl({ text: "", state: "active", severity: [each], page: 1 }),
  }, `${number(summary.active[each])} active ${each}`)));
}

// Before the first answer there are no counts: "0 incidents" would say that all is well.
function drawControls() {
  const { counts } = page;
  const label = (name, count) => summary ? `${name} (${number(count)})` : name;
  if (document.activeElement !== at("filter")) at("filter").value = view.text;
  at("state").value = view.state;
  for (const option of at("state").options) {
    option.textContent = label(option.value || "all", counted(counts, option.value, view.severity));
  }
  for (const button of document.querySelectorAll("[data-severity]")) {
    const { severity } = button.dataset;
    button.setAttribute("aria-pressed", String(view.severity.includes(severity)));
    button.textContent = label(severity, counted(counts, view.state, [severity]));
  }
  if (!summary) return;
  const from = SIZE * (view.page - 1);
  const pages = Math.ceil(page.total / SIZE);
  at("count").textContent = pages > 1
    ? `${number(from + 1)} to ${number(from + page.items.length)} of ${number(page.total)} incidents`
    : `${number(page.total)} incident${page.total === 1 ? "" : "s"}`;
  at("pages").hidden = pages < 2;
  at("previous").disabled = view.page <= 1;
  at("next").disabled = view.page >= pages;
  at("pages").querySelector("span").textContent = `page ${number(view.page)} of ${number(pages)}`;
}

function drawTable(paths) {
  const rows = page.items;
  const key = JSON.stringify([rows, page.explains, page.handling, [...details.keys()]]);
  const filtered = view.text || view.state || view.severity.length;
  at("empty").hidden = rows.length > 0;
  const [headline, small] = at("empty").children;
  headline.textContent = filtered ? "No incident matches" : "No incidents";
  small.textContent = filtered ? "Change the filter to see the others."
    : paths ? `${number(paths)} paths watched, none of them to complain about.`
      : "No paths watched yet: waiting for the first measurements.";
  if (key === shown) return;
  shown = key;
  const focused = document.activeElement && document.activeElement.dataset.incident;
  at("incidents").replaceChildren(...rows.flatMap((each) => rowsOf(each, page.explains[each.incident_id] || 0, page.handling[each.incident_id])));
  if (focused) document.querySelector(`button[data-incident="${CSS.escape(focused)}"]`)?.focus();
  fresh.clear();
}

function rowsOf(each, others, handling) {
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
      ties.length ? element("small", {}, `or ${ties.join(", ")}: indistinguishable by probes`) : null,
      others ? element("small", {}, `explains ${number(others)} other${others > 1 ? "s" : ""}`) : null,
      handling ? element("small", {}, handledOf(handling)) : null,
      each.parent ? element("small", {}, "explained by ", incidentLink(each.parent, `incident ${each.parent}`)) : null),
    element("td", { class: "what" }, words(each.symptom), element("br"), element("span", { class: "quiet" }, each.layer)),
    element("td", { class: "time" }, moment(each.opened_at), element("small", { class: "quiet age", "data-since": each.opened_at }, age(each.opened_at))),
    element("td", { class: "number" }, seconds(each)),
    element("td", { class: "why" }, each.evidence.text || "—"));
  row.classList.toggle("new", fresh.has(id));
  row.addEventListener("click", (event) => {
    if (event.target.closest("a")) return;
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
    cell.replaceChildren(
      element("p", {}, incidentLink(id, "Where it is, how it developed, and what to do"),
        " · ", element("a", { href: `/topology?incident=${encodeURIComponent(id)}` }, "In the topology")),
      detailOf(found));
  } catch (why) {
    delete cell.dataset.version;
    cell.replaceChildren(`Not loaded: ${why.message}`);
  }
}

// The server sends each version that is stored. A hidden page has no stream: browsers open six
// connections to a server, for all of its pages.
let events = null;
let settling = null;

function listen() {
  events?.close();
  events = null;
  if (document.hidden) return;
  events = new EventSource("/api/v1/stream");
  events.addEventListener("incident", () => {
    clearTimeout(settling);
    settling = setTimeout(refresh, SETTLE_MS);
  });
}

const listening = () => events !== null && events.readyState === EventSource.OPEN;

// A slow server is asked less often: it works for one page no more than a quarter of the time.
async function watch() {
  const begin = performance.now();
  if (!document.hidden) await Promise.all([refresh(), refreshCoverage()]);
  const took = performance.now() - begin;
  setTimeout(watch, Math.min(Math.max(listening() && !lostSince ? PERIOD_LISTENING_MS : PERIOD_MS, 3 * took), LONGEST_MS));
}

at("filter").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => show(changed(view, { text: at("filter").value }), { replace: true }), TYPING_MS);
});
at("state").addEventListener("change", () => show(changed(view, { state: at("state").value })));
for (const button of document.querySelectorAll("[data-severity]")) {
  button.addEventListener("click", () => {
    const { severity } = button.dataset;
    show(changed(view, { severity: SEVERITIES.filter((each) => view.severity.includes(each) !== (each === severity)) }));
  });
}
for (const [id, step] of [["previous", -1], ["next", 1]]) {
  at(id).addEventListener("click", () => show({ ...view, page: view.page + step }));
}
addEventListener("popstate", () => {
  view = readView();
  known = null;
  drawControls();
  refresh();
});
at("controls").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("visibilitychange", () => {
  listen();
  if (!document.hidden) refresh();
});
addEventListener("pagehide", () => events?.close());
drawControls();
listen();
watch();
