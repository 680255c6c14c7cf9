// One job: is it the network, where it runs, who is slow. Text only, never markup.
import { ask } from "/page/ask.js";
import { age, element, moment } from "/page/detail.js";
import { showSkeleton } from "/page/job_skeleton.js";
import { linesOf } from "/page/lines.js";
import { isMuch } from "/page/loss.js";
import { redraw } from "/page/redraw.js";
import { follow, micros, microsCell, number, percent, percentCell, pill, plural, words } from "/page/shell.js";

const PERIOD_MS = 10_000;
const SLOW = 1.5; // times the median of the job
const at = (id) => document.getElementById(id);
const name = decodeURIComponent(location.pathname.slice("/jobs/".length));
const url = `/api/v1/jobs/${encodeURIComponent(name)}`;
let drawn = "";
let charts = null;

async function refresh() {
  if (!drawn) at("headline").textContent = name;
  const found = await ask(url);
  showSkeleton(await ask(`${url}/skeleton`));
  const now = JSON.stringify(found);
  if (now === drawn) return;
  drawn = now;
  at("headline").textContent = `${name}${found.tenants.length ? ` of ${found.tenants.join(", ")}` : ""}`;
  document.title = `${name} · SkeletonHunter`;
  at("json").href = url;
  at("skeleton-json").href = `${url}/skeleton`;
  at("verdict").dataset.answer = found.verdict.answer;
  at("verdict").textContent = found.verdict.text;
  drawCharts(found.series);
  redraw(at("incidents"), ...incidentsOf(found.incidents));
  at("slow").textContent = slowOf(found);
  redraw(at("rows"), ...found.containers.map(rowOf));
}

function drawCharts({ times, loss, rtt_us: rtts }) {
  charts?.destroy();
  charts = null;
  if (!times.length) return at("charts").replaceChildren(element("p", { class: "quiet" }, "No window of its paths was stored in the last hour."));
  const last = (values) => values.findLast((value) => value !== null) ?? null;
  const said = (value, text) => value === null ? "none" : text(value);
  charts = linesOf(at("charts"), [
    { caption: `Loss: ${said(last(loss), percent)} in the newest half minute`, times, values: loss.map((value) => value === null ? null : 100 * value),
      text: (value) => `${Number(value.toPrecision(3))} %`, least: 1 },
    { caption: `Round trip: median ${said(last(rtts), micros)} in the newest half minute`, times, values: rtts, text: (value) => `${Number(value.toPrecision(3))} µs`, least: 5 },
  ]);
}

function incidentsOf(incidents) {
  if (!incidents.length) return [element("p", { class: "quiet" }, "No incident has affected this job.")];
  return [element("ul", { class: "out" }, ...incidents.map((each) => element("li", {},
    pill(each.severity), " ", pill(each.state), " ",
    element("a", { href: `/incidents/${encodeURIComponent(each.incident_id)}` }, `${each.component}: ${words(each.symptom)}`),
    element("span", { class: "quiet" }, " ", moment(each.opened_at), ` (${age(each.opened_at)}) `),
    element("a", { href: `/topology?incident=${encodeURIComponent(each.incident_id)}` }, "in the topology"),
    each.text ? element("span", { class: "why" }, each.text) : null)))];
}

function slowOf({ containers, containers_total: total, as_of: end }) {
  const present = containers.filter((each) => each.state !== "gone");
  if (!present.length) return "No container of this job is placed.";
  const where = `${plural(total, "container")} on ${plural(new Set(present.map((each) => each.node_sn)).size, "host")}` +
    (total > containers.length ? `; the first ${number(containers.length)} are shown` : "");
  if (!end) return `${where}. None was probed in the last hour.`;
  const slow = present.filter((each) => each.slowness >= SLOW).sort((a, b) => b.slowness - a.slowness);
  const lossy = present.filter((each) => isMuch(each.sent, each.lost));
  const facts = [
    slow.length ? `${slow[0].node_id} is slowest: ${slow[0].slowness} times the median of the job` : `no container is slower than ${SLOW} times the median of the job`,
    lossy.length ? `${plural(lossy.length, "container")} lost 1 % of ${lossy.length === 1 ? "its" : "their"} probes or more` : "none lost 1 % of its probes or more",
  ];
  return `${where}. In the five minutes before ${end.slice(11, 19)} UTC ${facts.join("; ")}.`;
}

function rowOf(each) {
  const lossy = isMuch(each.sent, each.lost);
  const slow = each.slowness >= SLOW;
  return element("tr", {},
    element("td", { class: "name" }, each.node_id),
    element("td", { "data-label": "state" }, pill(each.state === "ready" ? "resolved" : "stale", each.state)),
    element("td", { "data-label": "host" }, element("a", { href: `/topology?component=${encodeURIComponent(`host:${each.node_sn}`)}` }, each.node_sn)),
    element("td", { "data-label": "rnics" }, rnicsOf(each.rnics)),
    element("td", { class: "number", "data-label": "lost" }, each.sent ? `${lossy ? "! " : ""}${percentCell(each.lost / each.sent)}` : "no probes"),
    element("td", { class: "number", "data-label": "round trip" }, microsCell(each.rtt_us)),
    element("td", { class: "number", "data-label": "against the job" }, each.slowness === null ? "–" : `${slow ? "! " : ""}${each.slowness.toFixed(2)} ×`));
}

function rnicsOf(names) {
  if (names.length <= 2) return names.join(", ") || "–";
  return element("details", {}, element("summary", {}, plural(names.length, "rnic")), names.join(", "));
}

follow(refresh, PERIOD_MS);
