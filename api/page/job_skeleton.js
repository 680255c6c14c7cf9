// The skeleton section of a job: the drawing, its keys, and the same in tables. Text only, never markup.
import { itemAt, neighbor } from "/page/clos.js";
import { element } from "/page/detail.js";
import { LOOKS, lookOf as lookOfLoss } from "/page/loss.js";
import { micros, microsCell, number, percent, percentCell, plural } from "/page/shell.js";
import { redraw } from "/page/redraw.js";
import { groupsOf, layout, lookOf, paint, usualOf } from "/page/skeleton.js";

const MOST_PAIRS = 200; // of the table; the others are in the JSON
const SLOW = 1.5; // times the median of the job
const at = (id) => document.getElementById(id);

let data = null; // of the fabric that is shown
let fabrics = [];
let drawing = null;
let focus = null; // number of an rnic
let drawn = "";

const loses = (sent, lost) => !["none", "unknown"].includes(lookOfLoss(sent, lost));

export function showSkeleton(found) {
  const now = JSON.stringify(found);
  if (now === drawn) return;
  drawn = now;
  fabrics = found?.fabrics ?? [];
  const names = fabrics.map((each) => each.fabric);
  at("fabric-choice").hidden = names.length < 2;
  at("fabric").replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  data = fabrics.find((each) => each.fabric === data?.fabric) ?? fabrics[0] ?? null;
  if (data) at("fabric").value = data.fabric;
  drawAll();
}

function drawAll() {
  at("skeleton-body").hidden = !data?.rnics.length;
  say("skeleton-text", data ? textOf(data) : "No container of this job is placed.");
  if (!data) return;
  say("skeleton-bad", badOf(data));
  at("skeleton-legend").replaceChildren(...legend());
  redraw(at("groups"), ...groupsOf(data).map(groupRow));
  say("groups-title", data.state === "used" ? "DP group" : "Container");
  const rows = data.links.slice(0, MOST_PAIRS);
  redraw(at("pairs"), ...rows.map(pairRow));
  say("pairs-title", data.links_total > rows.length
    ? `The worst ${number(rows.length)} of ${plural(data.links_total, "pair")} that probe each other`
    : `${plural(rows.length, "pair")} that probe each other`);
  draw();
}

function draw() {
  if (!data?.rnics.length) return;
  performance.mark("skeleton-begin");
  drawing = layout(data, at("graph-frame").clientWidth);
  const canvas = at("graph");
  const ratio = Math.min(devicePixelRatio || 1, 16_000 / drawing.width);
  canvas.width = Math.ceil(drawing.width * ratio);
  canvas.height = Math.ceil(drawing.height * ratio);
  canvas.style.width = `${drawing.width}px`;
  canvas.style.height = `${drawing.height}px`;
  canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  if (!drawing.items.has(focus)) focus = null;
  repaint();
  performance.measure("skeleton-draw", "skeleton-begin");
}

function repaint() {
  paint(at("graph").getContext("2d"), drawing, data, at("measure").value, focus);
  say("rnic", focus === null ? "Point at an rnic, or move with the arrow keys." : saidOf(drawing.items.get(focus)));
}

function say(id, text) {
  if (at(id).textContent !== text) at(id).textContent = text;
}

function textOf({ text, state, pairs, probed, links_total: links, rnics, rnics_total: total }) {
  const known = state !== "used" ? `Probed: ${plural(links, "pair")} of its rnics.`
    : pairs === null ? `Probed: ${plural(links, "pair")}; which carry traffic is not stored.`
    : `Probed: ${number(probed)} of its ${plural(pairs, "pair")}.`;
  return `${text} ${known}${total > rnics.length ? ` ${number(rnics.length)} of ${number(total)} rnics are shown.` : ""}`;
}

// What stands out, in words: the same that the colors say.
function badOf({ links, rnics }) {
  if (!links.length) return "No probe between its rnics was stored in the last minutes.";
  const usual = usualOf(data);
  const lossy = links.filter(([, , , sent, lost]) => loses(sent, lost));
  const slow = links.filter(([, , , , , rtt]) => rtt !== null && usual && rtt / usual >= SLOW).sort((a, b) => b[5] - a[5]);
  const named = ([a, b]) => `${rnics[a][0]} and ${rnics[b][0]}`;
  return [
    lossy.length ? `${plural(lossy.length, "pair")} lost 0.1 % or more; worst ${named(lossy[0])}: ${percent(lossy[0][4] / lossy[0][3])}.` : "No pair lost 0.1 % of its probes or more, beyond chance.",
    slow.length ? `${plural(slow.length, "pair")} took ${SLOW} times the median (${micros(usual)}) or more; slowest ${named(slow[0])}: ${micros(slow[0][5])}.`
      : usual === null ? "" : `None took ${SLOW} times the median (${micros(usual)}).`,
  ].join(" ").trim();
}

const placeOf = (item) => data.state !== "used" ? ""
  : `: ${item.stage < 0 ? "no stage" : `stage ${item.stage}`}, ${item.cluster < 0 ? "no DP group" : `DP group ${item.cluster}`}` +
    `${item.expert < 0 ? "" : `, experts ${item.expert}`}${item.odd ? ", does not fit its group" : ""}`;

function saidOf(item) {
  const peers = data.links.filter(([a, b]) => a === item.number || b === item.number);
  const worst = peers[0]; // they are sorted
  const other = worst && data.rnics[worst[0] === item.number ? worst[1] : worst[0]][0];
  return `${item.name} of ${item.host}${item.container ? `, container ${item.container}` : ""}${placeOf(item)}. ` +
    (item.sent ? `${percent(item.lost / item.sent)} of ${plural(item.sent, "probe")} with ${plural(peers.length, "rnic")} lost, median ${micros(item.rtt)}` +
      (worst[4] ? `; worst with ${other}: ${percent(worst[4] / worst[3])}` : "") : "No probes with others");
}

function legend() {
  const loss = at("measure").value === "loss";
  const looks = loss ? LOOKS : [["none", "as the others"], ["some", "1.5 times the median"], ["much", "3 times the median"]];
  const keys = [...looks.map(([look, text]) => [look, look === "none" ? "" : "corner", text]), ["unknown", "hollow", "no probes"]];
  return [...keys.map(([name, shape, text]) => element("li", {}, element("i", { class: `key ${shape}`, "data-color": name }), text)),
    element("li", {}, element("i", { class: "key stroke plain" }), "probed, in the skeleton"),
    element("li", {}, element("i", { class: "key stroke plain dash" }), "probed, not in the skeleton"),
    ...(data.rnics.some((each) => each[6]) ? [element("li", {}, element("i", { class: "key hollow", "data-color": "warn" }), "does not fit its group")] : [])];
}

function groupRow(group) {
  const sum = (index) => group.rnics.reduce((total, each) => total + each[index], 0);
  const [sent, lost] = [sum("sent"), sum("lost")];
  const rtts = group.rnics.map((each) => each.rtt).filter((rtt) => rtt !== null).sort((a, b) => a - b);
  const hosts = [...new Set(group.rnics.map((each) => each.host))];
  const stage = data.state === "used" ? (group.column < 0 ? "not known" : String(group.column)) : "–";
  return element("tr", {},
    element("td", { class: "name" }, group.title),
    element("td", { "data-label": "stage" }, stage),
    element("td", { "data-label": "rnics" }, folded(group.rnics.map((each) => each.name), "rnic")),
    element("td", { "data-label": "hosts" }, folded(hosts, "host")),
    element("td", { class: "number", "data-label": "lost" }, sent ? `${loses(sent, lost) ? "! " : ""}${percentCell(lost / sent)}` : "no probes"),
    element("td", { class: "number", "data-label": "round trip" }, microsCell(rtts.length ? rtts[Math.floor(rtts.length / 2)] : null)));
}

function folded(names, word) {
  if (names.length <= 3) return names.join(", ");
  return element("details", {}, element("summary", {}, plural(names.length, word)), names.join(", "));
}

function pairRow([a, b, inSkeleton, sent, lost, rtt]) {
  const usual = usualOf(data);
  const slow = lookOf(sent, lost, rtt, "rtt", usual);
  return element("tr", {},
    element("td", { class: "name" }, `${data.rnics[a][0]} – ${data.rnics[b][0]}`),
    element("td", { "data-label": "in the skeleton" }, data.state !== "used" || data.pairs === null ? "–" : inSkeleton ? "yes" : "no"),
    element("td", { class: "number", "data-label": "lost" }, sent ? `${loses(sent, lost) ? "! " : ""}${percentCell(lost / sent)}` : "no probes"),
    element("td", { class: "number", "data-label": "of" }, number(sent)),
    element("td", { class: "number", "data-label": "round trip" }, `${slow === "some" || slow === "much" ? "! " : ""}${microsCell(rtt)}`));
}

function show(item) {
  const wanted = item ? item.number : null;
  if (wanted === focus) return;
  focus = wanted;
  repaint();
}

const graph = at("graph");
graph.addEventListener("pointermove", (event) => { if (drawing) show(itemAt(drawing, event.offsetX, event.offsetY)); });
graph.addEventListener("keydown", (event) => {
  if (!drawing?.items.size || !event.key.startsWith("Arrow")) return;
  event.preventDefault();
  const here = drawing.items.get(focus);
  const item = here ? neighbor(drawing, here, event.key) : drawing.items.values().next().value;
  show(item);
  const frame = at("graph-frame");
  frame.scrollTo({ left: item.x + item.w / 2 - frame.clientWidth / 2, behavior: "auto" });
});
at("measure").addEventListener("change", () => {
  at("skeleton-legend").replaceChildren(...legend());
  repaint();
});
at("fabric").addEventListener("change", () => {
  data = fabrics.find((each) => each.fabric === at("fabric").value) ?? data;
  focus = null;
  drawAll();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
let wide = 0;
new ResizeObserver(() => {
  if (at("graph-frame").clientWidth === wide) return;
  wide = at("graph-frame").clientWidth;
  draw();
}).observe(at("graph-frame"));
