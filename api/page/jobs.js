// All training jobs, those with active incidents first.
import { ask } from "/page/ask.js";
import { element } from "/page/detail.js";
import { redraw } from "/page/redraw.js";
import { follow, number, pill, plural } from "/page/shell.js";

const PERIOD_MS = 10_000;
const at = (id) => document.getElementById(id);
let items = [];
let total = 0;

async function refresh() {
  ({ items, total } = await ask("/api/v1/jobs"));
  draw();
}

function draw() {
  const text = at("filter").value.trim().toLowerCase();
  const found = items.filter((each) => [each.job, each.fabric, ...each.tenants].some((name) => name.toLowerCase().includes(text)));
  const hit = items.filter((each) => Object.keys(each.active).length).length;
  at("summary").textContent = !items.length ? "No job is known: no placement, no topology document and no incident names one."
    : `${plural(total, "job")}, ${hit ? `${number(hit)} with active incidents` : "none with an active incident"}.` +
      (total > items.length ? ` The first ${number(items.length)} are shown.` : "");
  redraw(at("rows"), ...found.map((each) => element("tr", {},
    element("td", { class: "name" }, element("a", { href: `/jobs/${encodeURIComponent(each.job)}` }, each.job)),
    element("td", { "data-label": "incidents" }, ...incidents(each.active)),
    element("td", { class: "number", "data-label": "containers ready" }, each.containers ? `${number(each.ready)} of ${number(each.containers)}` : "not known"),
    element("td", { class: "number", "data-label": "hosts" }, number(each.hosts)),
    element("td", { "data-label": "tenant" }, each.tenants.join(", ") || "–"),
    element("td", { "data-label": "fabric" }, each.fabric || "–"))));
}

function incidents(active) {
  const found = Object.entries(active);
  return found.length ? found.flatMap(([severity, count]) => [pill(severity, `${number(count)} ${severity}`), " "]) : [pill("resolved", "none")];
}

at("filter").addEventListener("input", draw);
at("controls").addEventListener("submit", (event) => event.preventDefault());
follow(refresh, PERIOD_MS);
