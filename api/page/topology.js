// The fabric with the health of its parts, active incidents and the paths of one. The view is part of the address.
// Text only, never markup.
import { ask } from "/page/ask.js";
import { healthOf, itemAt, key, layout, linksOf, neighbor, paint, paintOver, palette } from "/page/clos.js";
import { age, element } from "/page/detail.js";
import { LOOKS, isMuch } from "/page/loss.js";
import { redraw } from "/page/redraw.js";
import { follow, micros, number, percent, pill, plural, words } from "/page/shell.js";

const PERIOD_MS = 10_000;
const MOST_FOUND = 50;
const WORST = 8;
const at = (id) => document.getElementById(id);
const given = new URLSearchParams(location.search);
const view = { fabric: given.get("fabric") || "", incident: given.get("incident") || "", component: given.get("component") || "" };

let data = null;
let drawn = ""; // what was last drawn
let drawing = null;
let marks = new Map();
let focus = null; // component under the pointer or the arrow keys
let pinned = view.component;

function writeView() {
  const query = new URLSearchParams(Object.entries({ ...view, component: pinned }).filter(([, value]) => value));
  history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
}

async function refresh() {
  const query = new URLSearchParams();
  if (view.fabric) query.set("fabric", view.fabric);
  if (view.incident) query.set("incident", view.incident);
  const answer = await ask(`/api/v1/topology?${query}`);
  const now = JSON.stringify(answer);
  data = answer;
  drawSummary();
  if (now === drawn) return;
  drawn = now;
  drawLists();
  draw();
}

function draw() {
  if (!data) return;
  performance.mark("topology-begin");
  const frame = at("frame");
  drawing = layout(data, frame.clientWidth, Number(at("zoom").value));
  const covered = new Set(data.uncovered.map(key));
  for (const item of drawing.items.values()) item.uncovered = covered.has(item.key);
  marks = marksOf(data.incidents);
  const ratio = Math.min(devicePixelRatio || 1, 16_000 / drawing.width);
  for (const id of ["drawing", "over"]) {
    const canvas = at(id);
    canvas.width = Math.ceil(drawing.width * ratio);
    canvas.height = Math.ceil(drawing.height * ratio);
    canvas.style.width = `${drawing.width}px`;
    canvas.style.height = `${drawing.height}px`;
    canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  at("stage").style.width = `${drawing.width}px`;
  at("stage").style.height = `${drawing.height}px`;
  at("frame").hidden = !drawing.items.size;
  paint(at("drawing").getContext("2d"), drawing, marks, palette());
  focus = drawing.items.get(key(pinned)) ?? null;
  drawOver();
  performance.measure("topology-draw", "topology-begin");
  drawComponent(focus);
}

function drawOver() {
  paintOver(at("over").getContext("2d"), drawing, data.paths, focus, marks, palette());
}

// Component -> how an incident marks it: what is named first outweighs ties, more urgent incidents the others.
function marksOf(incidents) {
  const found = new Map();
  for (const look of ["tie", "bad"]) {
    for (const each of [...incidents].reverse()) {
      if (each.state === "resolved" && each.incident_id !== view.incident) continue;
      for (const id of look === "bad" ? each.marks : each.ties) found.set(key(id), { look, severity: each.severity, incident: each });
    }
  }
  return found;
}

function drawSummary() {
  const { fabric, hosts, rnics, switches, links, incidents } = data;
  const active = incidents.filter((each) => each.state !== "resolved");
  const clock = data.until_s === null ? "" : ` Loss of ${time(data.since_s)} to ${time(data.until_s)} UTC.`;
  const shown = data.paths ? `${data.paths.incident.component}: ${words(data.paths.incident.symptom)}, ${data.paths.incident.state}. ` : "";
  say("summary", rnics.length
    ? `${shown}${fabric || "The fabric"}: ${plural(switches.length, "switch").replace("switchs", "switches")}, ${plural(links.length, "link")} between them, ` +
      `${plural(hosts.length, "host")}, ${plural(rnics.length, "rnic")}; ${active.length ? plural(active.length, "active incident") : "no active incident"}.${clock}`
    : "Nothing to draw.");
  redraw(at("missing"), ...data.missing.map((text) => element("p", { class: "note" }, text)));
}

const time = (seconds) => new Date(1000 * seconds).toISOString().slice(11, 19);

function say(id, text) {
  if (at(id).textContent !== text) at(id).textContent = text;
}

function drawLists() {
  view.fabric = data.fabric;
  options(at("fabric"), data.fabrics.map((name) => [name, name || "(unnamed)"]), data.fabric);
  options(at("incident"), [["", "none"], ...data.incidents.map((each) =>
    [each.incident_id, `${each.severity} ${each.component}: ${words(each.symptom)}${each.state === "resolved" ? ", resolved" : ""}`])], view.incident);
  at("legend").replaceChildren(...legend());
  redraw(at("out"), ...outstanding());
  drawPaths();
}

function options(select, values, chosen) {
  const wanted = JSON.stringify(values);
  if (select.dataset.key !== wanted) select.replaceChildren(...values.map(([value, text]) => element("option", { value }, text)));
  select.dataset.key = wanted;
  select.value = chosen;
}

function legend() {
  const box = (name, shape) => element("i", { class: `key ${shape}`, "data-color": name });
  const keys = [...LOOKS.map(([look, text]) => [look, look === "none" ? "" : "corner", text]),
    ["unknown", "hollow", "no probes known"], ["bad", "cross", "incident"], ["warn", "hollow", "not told from it"]];
  if (data.paths) keys.push(["bad", "stroke", "bad path"], ["good", "stroke dash", "good path"]);
  return keys.map(([name, shape, text]) => element("li", {}, box(name, shape), text));
}

// Incidents, then the rnics that lose most.
function outstanding() {
  const incidents = data.incidents.map((each) => element("li", {},
    pill(each.severity), " ", pill(each.state), " ",
    element("a", { href: `/incidents/${encodeURIComponent(each.incident_id)}` }, `${each.component}: ${words(each.symptom)}`),
    element("span", { class: "quiet" }, ` ${age(each.opened_at)} `),
    finder(each.marks[0], "show it"), each.text ? element("span", { class: "why" }, each.text) : null));
  const worst = data.rnics.filter(([, , , , sent, lost]) => isMuch(sent, lost))
    .sort((a, b) => b[5] / b[4] - a[5] / a[4]);
  const rnics = worst.slice(0, WORST).map(([name, host, , , sent, lost, rtt]) => element("li", {},
    finder(`rnic:${name}`, name), ` of ${data.hosts[host]?.[0] ?? "an unknown host"}: ${percent(lost / sent)} of ${number(sent)} probes lost, median ${micros(rtt)}`));
  const over = data.switches.filter(([, , , sent, lost]) => isMuch(sent, lost)).sort((a, b) => b[4] / b[3] - a[4] / a[3]);
  rnics.unshift(...over.slice(0, WORST).map(([id, , , sent, lost, rtt]) => element("li", {},
    finder(id, id), `: ${percent(lost / sent)} of ${number(sent)} probes over it lost, median ${micros(rtt)}`)));
  const more = worst.length > WORST ? [element("li", { class: "quiet" }, `and ${plural(worst.length - WORST, "rnic")} more that lose 1 %`)] : [];
  return incidents.length || rnics.length
    ? [element("ul", { class: "out" }, ...incidents, ...rnics, ...more)]
    : [element("p", { class: "quiet" }, data.until_s === null ? "No incident is active." : "Nothing: no incident is active, and no rnic or switch loses 1 % or more.")];
}

function finder(id, text) {
  const button = element("button", { type: "button", class: "link" }, text);
  button.setAttribute("aria-label", `${text === "show it" ? "show" : "find"} ${id} in the drawing`);
  button.addEventListener("click", () => select(id));
  return button;
}

function drawPaths() {
  at("paths").hidden = !data.paths;
  if (!data.paths) return;
  const { bad, good, bad_total: total } = data.paths;
  say("paths-title", bad.length ? `Paths in the minute shown: ${number(bad.length)} of ${number(total)} that were bad at one of its verdicts, and ${number(good.length)} good ones of the same hosts`
    : "Paths: no window of its bad paths is stored");
  const open = new Set([...at("paths").querySelectorAll("details[open] summary")].map((each) => each.textContent));
  const folded = (title, paths) => {
    const traced = paths.filter((each) => each.traced).length;
    const text = `${title}; ${traced === paths.length ? "all routes traced" : `route known of ${number(traced)} of ${number(paths.length)}`}`;
    const made = element("details", {}, element("summary", {}, text), element("ol", { class: "routes" }, ...paths.map((each) =>
      element("li", {}, [each.src, ...each.hops, each.dst].join(" → "), element("span", { class: "quiet" },
        ` ${each.layer}${each.traced ? "" : ", route not traced"}: ${number(each.lost)} of ${number(each.sent)} lost, ${micros(each.rtt_us)}`)))));
    made.open = open.has(text);
    return made;
  };
  at("paths").lastElementChild.replaceChildren(...bad.length ? [folded(`${plural(bad.length, "bad path")}`, bad)] : [],
    ...good.length ? [folded(`${plural(good.length, "good path")}`, good)] : []);
}

// A line about a component for the live region, and its facts.
function drawComponent(item) {
  if (!item) return say("component", data.rnics.length ? "Point at a component, or move with the arrow keys." : "");
  const { look, incident } = healthOf(item, marks);
  const loss = item.sent ? `, ${percent(item.lost / item.sent)} of ${number(item.sent)} probes${item.kind === "rnic" ? "" : " over it"} lost, median ${micros(item.rtt)}` : item.kind === "rnic" ? ", no probes" : "";
  const state = incident ? `: ${look === "tie" ? "not told from" : "incident"} ${incident.component}, ${words(incident.symptom)}` : item.kind === "rnic" || item.kind === "host" ? "" : item.uncovered ? ": crossed by no probe" : item.sent ? "" : ": no route over it was traced";
  say("component", `${item.id}${state}${loss}`);
  const links = linksOf(drawing, item).map(([a, b]) => (a === item ? b : a).name);
  const rows = [["pod", item.pod], ["host", item.host], ["rail", item.kind === "rnic" ? String(item.rail) : ""], ["ToR", item.tor],
    ["links", links.length ? `${number(links.length)}: ${links.slice(0, 12).join(", ")}${links.length > 12 ? " …" : ""}` : "none known"]].filter(([, value]) => value);
  const list = element("dl");
  for (const [name, value] of rows) list.append(element("dt", {}, name), element("dd", {}, value));
  const concerned = data.incidents.filter((each) => [...each.marks, ...each.ties].some((id) => key(id) === item.key || (id.startsWith("link:") && key(id).includes(item.key))));
  for (const each of concerned) {
    list.append(element("dt", {}, "incident"), element("dd", {},
      element("a", { href: `/incidents/${encodeURIComponent(each.incident_id)}` }, `${each.component}: ${words(each.symptom)}`)));
  }
  at("facts").replaceChildren(list);
}

function show(item) {
  if (item === focus) return;
  focus = item;
  drawOver();
  drawComponent(item);
}

function select(id) {
  const item = drawing?.items.get(key(id)) ?? endOf(id);
  if (!item) return say("component", `${id} is not in the drawing`);
  pinned = item.id;
  writeView();
  show(item);
  const frame = at("frame");
  frame.scrollTo({ left: item.x + item.w / 2 - frame.clientWidth / 2, behavior: "auto" });
  at("frame").scrollIntoView({ block: "nearest" });
}

// Of a link the lower switch.
const endOf = (id) => id.startsWith("link:") ? key(id).slice(5).split("|").map((end) => drawing?.items.get(end)).filter(Boolean).sort((a, b) => b.y - a.y)[0] : null;

const over = at("over");
let dragged = null;
over.addEventListener("pointermove", (event) => {
  if (dragged) {
    at("frame").scrollLeft = dragged.left - (event.clientX - dragged.x);
    return;
  }
  if (!drawing) return;
  show(itemAt(drawing, event.offsetX, event.offsetY) ?? drawing.items.get(key(pinned)) ?? null);
});
over.addEventListener("pointerdown", (event) => {
  if (event.pointerType !== "mouse" || event.button) return; // fingers scroll by themselves
  dragged = { x: event.clientX, left: at("frame").scrollLeft };
  over.setPointerCapture(event.pointerId);
});
over.addEventListener("pointerup", (event) => {
  const moved = dragged && Math.abs(event.clientX - dragged.x) > 4;
  dragged = null;
  const item = drawing && !moved ? itemAt(drawing, event.offsetX, event.offsetY) : null;
  if (moved || !drawing) return;
  pinned = item ? item.id : "";
  writeView();
  show(item);
});
over.addEventListener("pointercancel", () => { dragged = null; });
over.addEventListener("keydown", (event) => {
  if (!drawing?.items.size || !event.key.startsWith("Arrow")) return;
  event.preventDefault();
  const first = [...drawing.items.values()].find((each) => each.kind !== "host");
  select((focus ? neighbor(drawing, focus.kind === "host" ? first : focus, event.key) : first).id);
});
at("find").addEventListener("input", () => {
  if (!drawing) return;
  const text = at("find").value.trim().toLowerCase();
  const all = [...drawing.items.values()];
  const exact = all.find((each) => each.id.toLowerCase() === text || each.name.toLowerCase() === text);
  if (exact) return select(exact.id);
  const found = text ? all.filter((each) => each.id.toLowerCase().includes(text)).slice(0, MOST_FOUND) : [];
  at("found").replaceChildren(...found.map((each) => element("option", { value: each.id })));
});
at("fabric").addEventListener("change", () => {
  Object.assign(view, { fabric: at("fabric").value, incident: "" });
  pinned = "";
  writeView();
  again();
});
at("incident").addEventListener("change", () => {
  view.incident = at("incident").value;
  writeView();
  again();
});
at("zoom").addEventListener("change", draw);
at("controls").addEventListener("submit", (event) => event.preventDefault());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
let wide = 0;
new ResizeObserver(() => {
  if (at("frame").clientWidth === wide) return;
  wide = at("frame").clientWidth;
  draw();
}).observe(at("frame"));
const again = follow(refresh, PERIOD_MS);
