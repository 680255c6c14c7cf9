// A Clos as a drawing: where each component is, and how it looks. Tiers from top to bottom; hosts are columns of
// their rnics, a row for each rail. Knows nothing of the page but its colors.
import { lookOf } from "/page/loss.js";

const TIERS = ["spine", "agg", "tor"];
const MOST_OF_ROW = 4; // a name of a tier takes that part of the drawing's width at most
const MARGIN = 12;
const SWITCH = { height: 22, gap: 4, widest: 96, narrowest: 5 };
const TIER_SPACE = 64; // for links between two tiers
const POD_GAP = 14;
const CELL = { height: 9, narrowest: 3, widest: 16 };
const MOST_LINES = 4000; // more would be one gray area: drawn for the component in focus only
const CORNER = 12; // pixels, of a switch
const LEAST_TEXT = 34; // pixels that a name needs at least
const FONT = "11px system-ui, sans-serif";

const LOOKS = ["none", "some", "much", "all"]; // of a loss; each is a color of the page

export const kindOf = (id) => id.slice(0, id.indexOf(":"));

// One id for a switch, whatever tier it was believed to be in, also at the ends of a link.
export function key(id) {
  if (id.startsWith("link:")) return `link:${id.slice(5).split("|").map(key).sort().join("|")}`;
  return TIERS.includes(kindOf(id)) ? `switch:${id.slice(id.indexOf(":") + 1)}` : id;
}

// Places of all components in a drawing that is at least so wide. items: id, kind, x, y, w, h and what is known.
export function layout(data, room, zoom) {
  const pods = podsOf(data);
  const rails = Math.max(1, ...pods.flatMap((pod) => pod.hosts.map((host) => host.rnics.length)));
  const least = (pod, cell, box) => Math.max(pod.hosts.length * cell, pod.tors.length * (box + SWITCH.gap), pod.aggs.length * (box + SWITCH.gap), 24);
  const gaps = 2 * MARGIN + POD_GAP * Math.max(0, pods.length - 1);
  const needed = (cell, box) => gaps + pods.reduce((sum, pod) => sum + least(pod, cell, box), 0);
  const spines = data.switches.filter(([id]) => kindOf(id) === "spine");
  const narrow = Math.max(needed(CELL.narrowest, SWITCH.narrowest), gaps + spines.length * (SWITCH.narrowest + SWITCH.gap));
  const width = Math.ceil(Math.max(narrow, room) * zoom);
  const share = (width - gaps) / (narrow - gaps);
  const items = new Map();
  const names = new Map(); // of switches
  const add = (item) => {
    items.set(item.key, item);
    if (TIERS.includes(item.kind)) names.set(item.name, item);
  };
  const y = { spine: 18, agg: 18 + SWITCH.height + TIER_SPACE };
  const hasAggs = pods.some((pod) => pod.aggs.length);
  if (!spines.length) y.agg = y.spine;
  y.tor = hasAggs ? y.agg + SWITCH.height + TIER_SPACE : y.agg;
  y.host = y.tor + SWITCH.height + 26;
  row(spines, MARGIN, width - 2 * MARGIN, y.spine, add);
  let x = MARGIN;
  const bands = [];
  for (const pod of pods) {
    const w = Math.max(24, least(pod, CELL.narrowest, SWITCH.narrowest) * share);
    row(pod.aggs, x, w, y.agg, add);
    row(pod.tors, x, w, y.tor, add);
    const step = w / Math.max(1, pod.hosts.length);
    const cell = Math.min(step, CELL.widest);
    pod.hosts.forEach((host, index) => {
      const left = x + index * step + (step - cell) / 2;
      add({ key: `host:${host.name}`, id: `host:${host.name}`, kind: "host", name: host.name, pod: pod.name, x: left, y: y.host, w: cell,
        h: rails * CELL.height, rnics: host.rnics.length });
      host.rnics.forEach((each, rail) => add({ ...each, x: left, y: y.host + rail * CELL.height, w: cell, h: CELL.height, pod: pod.name }));
    });
    bands.push({ name: pod.name, x, w, hosts: pod.hosts.length });
    x += w + POD_GAP;
  }
  const height = y.host + rails * CELL.height + 34;
  const links = data.links.map(([a, b]) => [items.get(key(data.switches[a][0])), items.get(key(data.switches[b][0]))]);
  return { items, names, links, bands, width, height, y, hasAggs, hasSpines: spines.length > 0 };
}

function podsOf({ switches, hosts, rnics }) {
  const pods = new Map();
  const of = (name) => {
    if (!pods.has(name)) pods.set(name, { name, aggs: [], tors: [], hosts: [] });
    return pods.get(name);
  };
  for (const each of switches) {
    const kind = kindOf(each[0]);
    if (kind !== "spine") of(each[2])[kind === "tor" ? "tors" : "aggs"].push(each);
  }
  const drawn = hosts.map(([name, pod]) => ({ name, pod, rnics: [] }));
  const strays = { name: "", pod: "", rnics: [] };
  for (const [name, host, rail, tor, sent, lost, rtt] of rnics) {
    (drawn[host] || strays).rnics.push({ key: `rnic:${name}`, id: `rnic:${name}`, kind: "rnic", name, rail, sent, lost, rtt,
      host: hosts[host]?.[0] ?? "", tor: switches[tor]?.[1] ?? "" });
  }
  for (const host of strays.rnics.length ? [...drawn, strays] : drawn) of(host.pod).hosts.push(host);
  return [...pods.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

function row(switches, x, width, y, add) {
  const step = width / Math.max(1, switches.length);
  const w = Math.max(SWITCH.narrowest, Math.min(SWITCH.widest, step - SWITCH.gap));
  const names = switches.map(([, name]) => name);
  const shared = sharedStart(names);
  const writing = { names, shared, w, h: SWITCH.height, way: null }; // one for a row: all of its names are written alike
  switches.forEach(([id, name, pod, sent, lost, rtt], index) => add({ key: key(id), id, kind: kindOf(id), name, pod, sent, lost, rtt, writing,
    x: x + index * step + (step - w) / 2, y, w, h: SWITCH.height }));
}

// What names have in common before what tells them apart, up to a separator: "asw-" of asw-01 and asw-14.
export function sharedStart(names) {
  if (names.length < 2) return "";
  let start = names[0];
  for (const name of names) while (!name.startsWith(start)) start = start.slice(0, -1);
  return start.replace(/[^-_./:]+$/, "");
}

// How the names of a row are written: whole, without their common start, that upwards, cut, or not at all.
function wayOf(brush, { names, shared, w, h }) {
  const widest = (texts) => Math.max(...texts.map((text) => brush.measureText(text).width));
  const short = widest(names.map((name) => name.slice(shared.length)));
  if (widest(names) <= w - 6) return "whole";
  if (short <= w - 2) return "short";
  if (w >= 11 && short <= h - 2) return "upwards";
  return w < LEAST_TEXT ? "none" : "cut";
}

// How a component is: incident, tie, unknown, or by what is lost.
export function healthOf(item, marks) {
  const mark = marks.get(item.key);
  if (mark) return mark;
  if (item.uncovered || !item.sent) return { look: "unknown" };
  return { look: lookOf(item.sent, item.lost) };
}

const colorOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function palette() {
  const colors = Object.fromEntries(LOOKS.map((look) => [look, colorOf(`--loss-${look}`)]));
  for (const name of ["ink", "quiet", "line", "card", "ground", "bad", "warn", "good", "accent", "link"]) colors[name] = colorOf(`--${name}`);
  return { ...colors, unknown: colorOf("--loss-unknown") };
}

const middle = (item) => [item.x + item.w / 2, item.y + item.h / 2];

export function paint(brush, drawing, marks, colors) {
  brush.clearRect(0, 0, drawing.width, drawing.height);
  brush.font = FONT;
  brush.textBaseline = "middle";
  paintBands(brush, drawing, colors);
  if (drawing.links.length <= MOST_LINES) {
    brush.strokeStyle = colors.line;
    brush.lineWidth = 1;
    brush.beginPath();
    for (const [a, b] of drawing.links) line(brush, a, b);
    brush.stroke();
  }
  for (const item of drawing.items.values()) {
    if (item.kind === "host") continue;
    (item.kind === "rnic" ? paintRnic : paintSwitch)(brush, item, healthOf(item, marks), colors);
  }
  paintTiers(brush, drawing, colors);
  for (const [id, mark] of marks) paintMark(brush, drawing, id, mark, colors);
}

// Names of the tiers, over the lines and on a ground of their own; with what the names of their switches leave out.
function paintTiers(brush, drawing, colors) {
  const tiers = [[drawing.hasSpines, drawing.y.spine - 9, "spines", "spine"], [drawing.hasAggs, drawing.y.agg - 9, "aggregation", "agg"],
    [true, drawing.y.tor - 9, "ToRs", "tor"], [true, drawing.y.host - 10, "hosts, a cell for each rnic", ""]];
  brush.textAlign = "left";
  for (const [there, y, title, kind] of tiers) {
    if (!there) continue;
    const left = new Set();
    for (const each of kind ? drawing.names.values() : []) {
      if (each.kind === kind && ["short", "upwards"].includes(each.writing.way)) left.add(each.writing.shared);
    }
    const named = left.size === 1 && !left.has("") ? `${title} ${[...left][0]}…` : title;
    // On a phone a longer one would lie under the crosses of the hosts.
    const text = brush.measureText(named).width > drawing.width / MOST_OF_ROW ? named.split(",")[0] : named;
    brush.globalAlpha = 0.85;
    brush.fillStyle = colors.ground;
    brush.fillRect(MARGIN - 2, y - 7, brush.measureText(text).width + 4, 14);
    brush.globalAlpha = 1;
    brush.fillStyle = colors.quiet;
    brush.fillText(text, MARGIN, y);
  }
}

function paintBands(brush, drawing, colors) {
  brush.fillStyle = colors.quiet;
  brush.textAlign = "left";
  for (const band of drawing.bands) {
    const y = drawing.height - 18;
    brush.strokeStyle = colors.line;
    brush.lineWidth = 1;
    brush.beginPath();
    brush.moveTo(band.x, y - 8);
    brush.lineTo(band.x + band.w, y - 8);
    brush.stroke();
    const text = `${band.name || "no pod"}: ${band.hosts} host${band.hosts === 1 ? "" : "s"}`;
    if (brush.measureText(text).width <= band.w) brush.fillText(text, band.x, y + 3);
    else if (band.w > LEAST_TEXT) brush.fillText(fitted(brush, band.name, band.w), band.x, y + 3);
  }
}

function line(brush, a, b) {
  const [top, below] = a.y < b.y ? [a, b] : [b, a];
  brush.moveTo(top.x + top.w / 2, top.y + top.h);
  brush.lineTo(below.x + below.w / 2, below.y);
}

function paintSwitch(brush, item, { look }, colors) {
  const unknown = look === "unknown";
  brush.fillStyle = unknown ? colors.card : colors[look] ?? colors.none;
  if (look === "bad") brush.fillStyle = colors.much;
  if (look === "tie") brush.fillStyle = colors.some;
  brush.strokeStyle = unknown ? colors.quiet : colors.card;
  brush.lineWidth = 1;
  brush.setLineDash(unknown ? [3, 3] : []);
  brush.beginPath();
  brush.roundRect(item.x, item.y, item.w, item.h, 4);
  brush.fill();
  brush.stroke();
  brush.setLineDash([]);
  if (look === "some" || look === "much" || look === "all") paintCorner(brush, item, look, colors);
  paintName(brush, item, colors);
}

function paintName(brush, { name, writing, x, y, w, h }, colors) {
  const way = writing.way ??= wayOf(brush, writing);
  if (way === "none") return;
  brush.fillStyle = colors.ink;
  brush.textAlign = "center";
  const text = way === "whole" ? name : way === "cut" ? fitted(brush, name, w - 6) : name.slice(writing.shared.length);
  brush.save();
  brush.translate(x + w / 2, y + h / 2 + 0.5);
  if (way === "upwards") brush.rotate(-Math.PI / 2);
  brush.fillText(text, 0, 0);
  brush.restore();
}

function paintRnic(brush, item, { look }, colors) {
  const gap = item.w > 4 ? 1 : 0.5;
  const [x, y, w, h] = [item.x, item.y, item.w - gap, item.h - 1];
  if (look === "unknown") {
    brush.strokeStyle = colors.quiet;
    brush.lineWidth = 0.5;
    brush.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    return;
  }
  brush.fillStyle = look === "bad" ? colors.much : look === "tie" ? colors.some : colors[look];
  brush.fillRect(x, y, w, h);
  if (look !== "none" && look !== "tie") paintCorner(brush, { x, y, w, h }, look, colors);
}

// Some is lost; what an incident names has a cross, by its mark.
function paintCorner(brush, { x, y, w, h }, look, colors) {
  brush.fillStyle = look === "all" ? colors.card : colors.ink;
  brush.beginPath();
  brush.moveTo(x, y + h);
  brush.lineTo(x + Math.min(w, h, CORNER), y + h);
  brush.lineTo(x, Math.max(y + (look === "some" ? h / 2 : 0), y + h - CORNER));
  brush.fill();
}

// A cross and the severity at what an incident names; a question mark at its ties.
function paintMark(brush, drawing, id, mark, colors) {
  const item = drawing.items.get(id);
  const [x, y] = item ? middle(item) : linkMiddle(drawing, id) ?? [];
  if (x === undefined) return;
  const bad = mark.look === "bad";
  brush.strokeStyle = bad ? colors.bad : colors.warn;
  brush.lineWidth = 2;
  brush.setLineDash(bad ? [] : [4, 3]);
  if (item) brush.strokeRect(item.x - 2, item.y - 2, item.w + 3, item.h + 3);
  brush.setLineDash([]);
  if (!item) {
    const [a, b] = id.slice(5).split("|").map((end) => drawing.items.get(end));
    brush.lineWidth = 3;
    brush.beginPath();
    line(brush, a, b);
    brush.stroke();
  }
  const text = bad ? `✕ ${mark.severity}` : "?";
  const top = item ? item.y - 10 : y;
  const width = brush.measureText(text).width + 8;
  const left = Math.min(Math.max(x - width / 2, 0), drawing.width - width);
  brush.fillStyle = bad ? colors.bad : colors.warn;
  brush.beginPath();
  brush.roundRect(left, top - 8, width, 15, 7);
  brush.fill();
  brush.fillStyle = colors.card;
  brush.textAlign = "center";
  brush.fillText(text, left + width / 2, top);
}

function linkMiddle(drawing, id) {
  if (!id.startsWith("link:")) return null;
  const [a, b] = id.slice(5).split("|").map((end) => drawing.items.get(end));
  if (!a || !b) return null;
  const [[ax, ay], [bx, by]] = [middle(a), middle(b)];
  return [(ax + bx) / 2, (ay + by) / 2];
}

const cuts = new Map();

function fitted(brush, text, width) {
  const known = `${text}\n${Math.floor(width)}`;
  if (!cuts.has(known)) {
    let cut = text;
    while (cut.length > 1 && brush.measureText(cut === text ? cut : `${cut}…`).width > width) cut = cut.slice(0, -1);
    cuts.set(known, cut === text ? text : `${cut}…`);
  }
  return cuts.get(known);
}

// Over the drawing: paths below the switches that they cross, and the component in focus with its links.
export function paintOver(brush, drawing, paths, item, marks, colors) {
  brush.clearRect(0, 0, drawing.width, drawing.height);
  for (const [sort, color, width, dash] of [["good", colors.good, 1, [5, 4]], ["bad", colors.bad, 1.8, []]]) {
    brush.strokeStyle = color;
    brush.lineWidth = width;
    for (const path of paths?.[sort] ?? []) paintPath(brush, drawing, path, dash);
  }
  brush.setLineDash([]);
  if (paths) {
    brush.font = FONT;
    brush.textBaseline = "middle";
    for (const each of drawing.names.values()) paintSwitch(brush, each, healthOf(each, marks), colors);
    paintTiers(brush, drawing, colors);
    for (const [id, mark] of marks) paintMark(brush, drawing, id, mark, colors);
  }
  if (!item) return;
  brush.strokeStyle = colors.link;
  brush.lineWidth = 1.5;
  brush.beginPath();
  for (const [a, b] of linksOf(drawing, item)) line(brush, a, b);
  brush.stroke();
  brush.lineWidth = 2.5;
  brush.strokeRect(item.x - 1.5, item.y - 1.5, item.w + 2, item.h + 2);
}

export function linksOf(drawing, item) {
  if (item.kind === "host") return [...drawing.items.values()].filter((each) => each.host === item.name && each.kind === "rnic")
    .flatMap((each) => linksOf(drawing, each));
  if (item.kind === "rnic") {
    const tor = drawing.names.get(item.tor);
    return tor ? [[item, tor]] : [];
  }
  const down = item.kind === "tor" ? [...drawing.items.values()].filter((each) => each.kind === "rnic" && each.tor === item.name) : [];
  return [...drawing.links.filter((ends) => ends.includes(item)), ...down.map((each) => [each, item])];
}

// Between switches that are no neighbors, the route is not known: dotted.
function paintPath(brush, drawing, path, dash) {
  const stops = [drawing.items.get(`rnic:${path.src}`), ...path.hops.map((hop) => drawing.names.get(hop)), drawing.items.get(`rnic:${path.dst}`)].filter(Boolean);
  for (let index = 1; index < stops.length; index++) {
    const [a, b] = [stops[index - 1], stops[index]];
    brush.setLineDash(!path.traced && a.kind !== "rnic" && b.kind !== "rnic" ? [2, 4] : dash);
    const [[ax, ay], [bx, by]] = [middle(a), middle(b)];
    brush.beginPath();
    brush.moveTo(ax, ay);
    if (a.y === b.y) brush.quadraticCurveTo((ax + bx) / 2, ay - 40, bx, by);
    else brush.lineTo(bx, by);
    brush.stroke();
  }
}

// The component at a place, with some pixels of tolerance.
export function itemAt(drawing, x, y) {
  let found = null;
  for (const item of drawing.items.values()) {
    if (x >= item.x - 1 && x <= item.x + item.w + 1 && y >= item.y && y <= item.y + item.h && item.kind !== "host") found = item;
  }
  return found;
}

// The next component in a direction: within its row, or the nearest one of the next row.
export function neighbor(drawing, item, arrow) {
  const all = [...drawing.items.values()].filter((each) => each.kind !== "host");
  const [side, sign] = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", -1], ArrowDown: ["y", 1] }[arrow];
  const away = (each) => sign * (each[side] - item[side]);
  const wanted = all.filter((each) => away(each) > 0.5 && (side === "y" || each.y === item.y));
  const nearest = Math.min(...wanted.map(away));
  const rows = wanted.filter((each) => away(each) < nearest + 0.5);
  const center = item.x + item.w / 2;
  return rows.sort((a, b) => Math.abs(a.x + a.w / 2 - center) - Math.abs(b.x + b.w / 2 - center))[0] ?? item;
}
