// The strip above the incidents: network, agents, coverage and pipeline at a glance, each a link to its view.
import { ask } from "/page/ask.js";
import { element } from "/page/detail.js";
import { redraw } from "/page/redraw.js";
import { STALE_S, lasting, number, plural } from "/page/shell.js";

const PERIOD_MS = 10_000;
const SHAPES = { good: "✓", warn: "!", bad: "✕" };
const at = (id) => document.getElementById(id);

function tile(href, state, headline, small) {
  return element("li", { "data-state": state }, element("a", { href }, element("strong", {}, `${SHAPES[state]} ${headline}`), element("span", {}, small)));
}

function tiles(summary, fleet, coverage) {
  const active = Object.values(summary.active).reduce((sum, count) => sum + count, 0);
  const worst = ["P0", "P1", "P2"].find((each) => summary.active[each]);
  const agents = Object.values(fleet.states).reduce((sum, count) => sum + count, 0);
  const trouble = agents - (fleet.states.active || 0);
  const uncovered = coverage.reduce((sum, each) => sum + each.uncovered, 0);
  const components = coverage.reduce((sum, each) => sum + each.components, 0);
  const age = summary.stored_age_s;
  const stale = age === null || age > STALE_S;
  return [
    tile("/topology", active ? (worst === "P2" ? "warn" : "bad") : stale ? "warn" : "good", active ? `${plural(active, "incident")} active` : stale ? "No active incident" : "Network is well",
      active ? `worst ${worst}; see where` : stale ? "but no new measurements" : `${number(summary.paths_watched)} paths watched`),
    tile("/fleet", !agents || trouble ? "warn" : "good", agents ? (trouble ? `${number(trouble)} of ${plural(agents, "agent")} in trouble` : `${plural(agents, "agent")} active`) : "No agents",
      agents ? versionsOf(fleet.versions) : "no heartbeat in a day"),
    tile("/fleet", !components || uncovered ? "warn" : "good", components ? `${number(components - uncovered)} of ${number(components)} covered` : "Coverage not known",
      components ? (uncovered ? `${plural(uncovered, "component")} crossed by no probe` : "all components are crossed") : "no topology was judged yet"),
    tile("/pipeline", stale ? "warn" : "good", age === null ? "Nothing measured yet" : stale ? `Nothing new for ${lasting(age)}` : "Measurements come in",
      age === null ? "no window is stored" : `newest stored ${lasting(age)} ago`),
  ];
}

// Agents that do not state their version have none to count.
function versionsOf(versions) {
  const known = Object.keys(versions).filter((name) => name && name !== "unknown").length;
  return known ? plural(known, "version") : "version unknown";
}

async function refresh() {
  if (!document.hidden) {
    try {
      const [summary, fleet, coverage] = await Promise.all([ask("/api/v1/summary"), ask("/api/v1/fleet?limit=1"), ask("/api/v1/coverage")]);
      redraw(at("strip"), ...tiles(summary, fleet, coverage.items));
    } catch {
      // The list below tells that the connection is lost.
    }
  }
  setTimeout(refresh, PERIOD_MS);
}
refresh();
