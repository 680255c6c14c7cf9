// Agents by their heartbeats, what no probe crosses, and hosts without an agent. The filter is part of the address.
import { ask } from "/page/ask.js";
import { coverageOf } from "/page/coverage.js";
import { age, element, moment } from "/page/detail.js";
import { redraw } from "/page/redraw.js";
import { follow, lasting, number, percentCell, pill, plural, words } from "/page/shell.js";

const PERIOD_MS = 5000;
const TYPING_MS = 200;
const OLD_S = 30; // without a heartbeat of any agent
const LATE_US = 10_000;
const CLOCK_MS = 5000; // skew that is allowed, against the other agents
const STEAL = 0.2;
const SIMULATED = "simulated"; // version of a demo's agents: it plays event time faster than the clock, so they are always late
const at = (id) => document.getElementById(id);
const given = new URLSearchParams(location.search);
at("filter").value = (given.get("text") || "").slice(0, 200);
let state = given.get("state") || "";
let typing = null;

async function refresh() {
  const query = new URLSearchParams({ limit: 200 });
  if (at("filter").value.trim()) query.set("text", at("filter").value.trim());
  if (state) query.set("state", state);
  const [found, coverage] = await Promise.all([ask(`/api/v1/fleet?${query}`), ask("/api/v1/coverage")]);
  draw(found, coverage.items);
}

function draw(found, coverage) {
  const all = Object.values(found.states).reduce((sum, count) => sum + count, 0);
  const trouble = Object.entries(found.states).filter(([name]) => name !== "active");
  const old = found.newest_age_s !== null && found.newest_age_s > OLD_S;
  at("summary").textContent = !all ? "No heartbeat was stored in the last day: no agent runs, or none reaches the store."
    : `${plural(all, "agent")}: ${trouble.length ? [...trouble.map(([name, count]) => `${number(count)} ${words(name)}`), `${number(found.states.active || 0)} active`].join(", ") : "all active"}.` +
      (old ? ` No heartbeat has arrived for ${lasting(found.newest_age_s)}: states are as of then. Agents, Kafka or the sink have stopped.` : "");
  const simulated = Object.keys(found.versions).every((name) => name === SIMULATED);
  const late = !simulated && found.arrival_s !== null && Math.abs(found.arrival_s) * 1000 > CLOCK_MS;
  if (late) at("summary").textContent += ` Heartbeats arrive ${lasting(Math.abs(found.arrival_s))} ${found.arrival_s > 0 ? "after" : "before"} the time that agents wrote into them: a backlog, or the broker's clock.`;
  at("summary").classList.toggle("note", old);
  const versions = Object.entries(found.versions);
  at("versions").textContent = versions.length ? `Versions: ${versions.map(([name, count]) => `${name} on ${number(count)}`).join(", ")}.` : "";
  const holes = coverageOf(coverage);
  redraw(at("coverage"), ...holes.length || !coverage.length ? holes
    : [element("p", { class: "quiet" }, `Coverage: all ${number(coverage.reduce((sum, each) => sum + each.components, 0))} components are crossed by probes.`)]);
  redraw(at("without"), ...without(found));
  const states = [["", `all (${number(all)})`], ...Object.entries(found.states).map(([name, count]) => [name, `${words(name)} (${number(count)})`])];
  if (state && !(state in found.states)) states.push([state, `${words(state)} (0)`]);
  redraw(at("state"), ...states.map(([value, text]) => element("option", { value }, text)));
  at("state").value = state;
  at("count").textContent = found.total > found.agents.length ? `the first ${number(found.agents.length)} of ${plural(found.total, "agent")}` : plural(found.total, "agent");
  redraw(at("rows"), ...found.agents.map(rowOf));
}

function without({ hosts, silent_hosts: names, silent_total: total }) {
  if (hosts === null) return [element("p", { class: "quiet" }, "Hosts without an agent are not known: no topology document is stored.")];
  if (!total) return [element("p", { class: "quiet" }, `Each of the ${plural(hosts, "host")} of the topology has an agent.`)];
  const more = total > names.length ? ` and ${number(total - names.length)} more` : "";
  return [element("details", { class: "note" }, element("summary", {}, `${number(total)} of ${plural(hosts, "host")} of the topology had no agent in the last day`), names.join(", ") + more)];
}

const marked = (bad, text) => bad ? `! ${text}` : text;

function rowOf(each) {
  const shown = { active: "resolved", silent: "stale" }[each.state] ?? "open";
  const state = pill(shown, words(each.state));
  const scope = each.scope ? element("small", { class: "quiet" }, ` ${each.scope}`) : null;
  return element("tr", {},
    element("td", { class: "name" }, element("a", { href: `/topology?fabric=${encodeURIComponent(each.fabric)}&component=${encodeURIComponent(`host:${each.node_sn}`)}` }, each.node_sn), scope),
    element("td", { "data-label": "state" }, each.incident_id ? element("a", { href: `/incidents/${encodeURIComponent(each.incident_id)}` }, state) : state),
    element("td", { "data-label": "version" }, each.version || "unknown"),
    element("td", { "data-label": "last heartbeat" }, moment(each.last), element("small", { class: "quiet" }, ` ${age(each.last)}`)),
    element("td", { class: "number", "data-label": "CPU stolen" }, marked(each.cpu_steal >= STEAL, percentCell(each.cpu_steal, 1))),
    element("td", { class: "number", "data-label": "late by" }, marked(each.scheduling_delay_us >= LATE_US, delay(each.scheduling_delay_us))),
    element("td", { class: "number", "data-label": "clock off" }, each.clock_ms === null ? "–" : marked(Math.abs(each.clock_ms) > CLOCK_MS, `${(each.clock_ms / 1000).toFixed(2)} s`)),
    element("td", { class: "number", "data-label": "answered" }, each.sent ? percentCell(each.answered / each.sent) : "–"));
}

const delay = (us) => us < 1000 ? `${Math.round(us)} µs` : `${(us / 1000).toFixed(1)} ms`;

function changed() {
  const query = new URLSearchParams();
  if (at("filter").value.trim()) query.set("text", at("filter").value.trim());
  if (state) query.set("state", state);
  history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  again();
}

at("filter").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(changed, TYPING_MS);
});
at("state").addEventListener("change", () => {
  state = at("state").value;
  changed();
});
at("controls").addEventListener("submit", (event) => event.preventDefault());
const again = follow(refresh, PERIOD_MS);
