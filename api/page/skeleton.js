// The skeleton of a job as a drawing: a column for each pipeline stage, in it a row of rnics for each DP group, and
// lines between rnics that probe each other. Knows nothing of the page but its colors.
import { palette } from "/page/clos.js";
import { lookOf as lookOfLoss } from "/page/loss.js";

const MARGIN = 12;
const TITLE = 18; // above a column, and above a row
const GAP = { column: 72, narrow: 24, most: 192, row: 10 };
const CELL = { widest: 26, narrowest: 10, gap: 6 };
const NAME = { whole: 84, short: 46 }; // pixels for the name of a group
const ROWS = 12; // of a column, where there are no stages
const MOST_LINES = 6000; // more would be one gray area: only bad ones and those of the rnic in focus
const LEAST_TEXT = 30;
const FONT = "11px system-ui, sans-serif";
// Least multiple of the job's median of each look, worst first.
const SLOW = [[3, "much"], [1.5, "some"], [0, "none"]];
const WIDTH = { none: 1, some: 2, much: 3, all: 3.5 };
const ORDER = ["none", "some", "much", "all"];

const byName = (a, b) => a.localeCompare(b, "en", { numeric: true });

// Groups of rnics as they are drawn: { column, title, rnics }. Without positions a group is a container.
export function groupsOf({ state, rnics }) {
  const groups = new Map();
  rnics.forEach(([name, host, container, cluster, stage, expert, odd, sent, lost, rtt], number) => {
    const known = state === "used";
    const column = known ? stage : 0;
    const key = known ? `${stage}/${cluster}` : container || host;
    const title = known ? (cluster < 0 ? "no DP group" : `DP group ${cluster}`) : key;
    if (!groups.has(key)) groups.set(key, { key, column, title, rnics: [] });
    groups.get(key).rnics.push({ number, name, host, container, cluster, stage, expert, odd, sent, lost, rtt });
  });
  const last = (column) => column < 0 ? Infinity : column; // what has no stage
  const sorted = [...groups.values()].sort((a, b) => last(a.column) - last(b.column) || byName(a.title, b.title));
  for (const group of sorted) group.rnics.sort((a, b) => byName(a.host, b.host) || byName(a.name, b.name));
  return sorted;
}

// The median round trip of the job's pairs, or null.
export function usualOf({ links }) {
  const known = links.map((link) => link[5]).filter((rtt) => rtt !== null).sort((a, b) => a - b);
  return known.length ? known[Math.floor(known.length / 2)] : null;
}

// How something is by what was measured: none (well), some, much, all, unknown.
export function lookOf(sent, lost, rtt, measure, usual) {
  if (!sent) return "unknown";
  if (measure === "loss") return lookOfLoss(sent, lost);
  if (rtt === null || !usual) return "unknown";
  return SLOW.find(([least]) => rtt / usual >= least)[1];
}

// Places of all rnics in a drawing that is as wide as it needs to be, or as the room.
export function layout(data, room) {
  const groups = groupsOf(data);
  const columns = new Map();
  groups.forEach((group, index) => {
    const column = data.state === "used" ? group.column : Math.floor(index / ROWS);
    if (!columns.has(column)) columns.set(column, []);
    columns.get(column).push(group);
  });
  const cells = [...columns.values()].map((rows) => Math.max(...rows.map((row) => row.rnics.length)));
  const sum = cells.reduce((total, each) => total + each, 0);
  const wide = (side, name) => cells.reduce((total, each) => total + Math.max(each * side, name), 2 * MARGIN);
  // Columns that do not fit stand closer, and the names of their groups are short.
  const narrow = wide(CELL.widest + CELL.gap, NAME.whole) + GAP.column * (columns.size - 1) > room;
  const [gap, named] = narrow ? [GAP.narrow, NAME.short] : [GAP.column, NAME.whole];
  const free = room - 2 * MARGIN - gap * (columns.size - 1);
  const step = Math.max(CELL.narrowest, Math.min(CELL.widest + CELL.gap, Math.floor(free / Math.max(sum, 1))));
  const side = step - Math.max(2, Math.min(CELL.gap, Math.floor(step / 4)));
  const height = side + TITLE + GAP.row;
  const items = new Map();
  const titles = [];
  const between = columns.size < 2 ? 0 : (room - wide(step, named)) / (columns.size - 1);
  const apart = Math.min(GAP.most, Math.max(gap, between));
  let x = MARGIN;
  let bottom = 0;
  [...columns].forEach(([column, rows], index) => {
    const top = MARGIN + (data.state === "used" ? TITLE : 0);
    const width = Math.max(cells[index] * step, named);
    if (data.state === "used") titles.push({ x, y: MARGIN + 6, w: width + apart - 8, text: column < 0 ? "no stage" : `stage ${column}`, strong: true });
    rows.forEach((row, at) => {
      const y = top + at * height;
      titles.push({ x, y: y + 8, w: width + (narrow ? apart - 4 : 0), text: narrow ? row.title.replace("DP group", "DP") : row.title });
      row.rnics.forEach((rnic, place) => {
        items.set(rnic.number, { ...rnic, key: rnic.number, kind: "rnic", column, row: row.key, x: x + place * step, y: y + TITLE, w: side, h: side });
      });
      bottom = Math.max(bottom, y + TITLE + side);
    });
    x += width + apart;
  });
  const width = Math.max(room, ...[...items.values()].map((item) => item.x + item.w + MARGIN), ...titles.filter((each) => each.strong).map((each) => each.x + (narrow ? NAME.short : 64)));
  return { items, titles, width: Math.ceil(width), height: bottom + MARGIN };
}

const middle = (item) => [item.x + item.w / 2, item.y + item.h / 2];

// Lines, rnics, and the rnic in focus with its lines. measure: loss or rtt.
export function paint(brush, drawing, data, measure, focus) {
  const colors = palette();
  const usual = usualOf(data);
  brush.clearRect(0, 0, drawing.width, drawing.height);
  brush.font = FONT;
  brush.textBaseline = "middle";
  brush.textAlign = "left";
  const links = data.links.map((link) => ({ link, look: lookOf(link[3], link[4], link[5], measure, usual) }));
  const shown = links.length > MOST_LINES ? links.filter(({ look }) => look !== "none") : links;
  for (const wanted of ["unknown", ...ORDER]) { // worst last, on top
    for (const { link, look } of shown) if (look === wanted) paintLink(brush, drawing, link, look, colors);
  }
  for (const title of drawing.titles) {
    brush.fillStyle = title.strong ? colors.ink : colors.quiet;
    brush.font = title.strong ? `600 ${FONT}` : FONT;
    const text = fitted(brush, title.text, title.w);
    const ink = brush.fillStyle;
    brush.fillStyle = colors.ground; // lines end at a name, they do not run through its blanks
    brush.fillRect(title.x - 2, title.y - 7, brush.measureText(text).width + 4, 14);
    brush.fillStyle = ink;
    brush.fillText(text, title.x, title.y);
  }
  brush.font = FONT;
  for (const item of drawing.items.values()) paintRnic(brush, item, lookOf(item.sent, item.lost, item.rtt, measure, usual), colors);
  const item = drawing.items.get(focus);
  if (!item) return;
  for (const { link, look } of links) {
    if (link[0] === focus || link[1] === focus) paintLink(brush, drawing, link, look, { ...colors, none: colors.link, quiet: colors.link }, 1);
  }
  brush.strokeStyle = colors.link;
  brush.lineWidth = 2.5;
  brush.setLineDash([]);
  brush.strokeRect(item.x - 2, item.y - 2, item.w + 4, item.h + 4);
}

// Bad ones are wider; what carries no traffic of the skeleton is dashed.
function paintLink(brush, drawing, [from, to, inSkeleton], look, colors, wider = 0) {
  const [a, b] = [drawing.items.get(from), drawing.items.get(to)];
  if (!a || !b) return;
  const [[ax, ay], [bx, by]] = [middle(a), middle(b)];
  brush.strokeStyle = look === "unknown" ? colors.quiet : colors[look];
  brush.globalAlpha = look === "none" && !wider ? 0.55 : 1;
  brush.lineWidth = (WIDTH[look] ?? 1) + wider;
  brush.setLineDash(inSkeleton ? [] : [4, 3]);
  brush.beginPath();
  brush.moveTo(ax, ay);
  if (Math.abs(ay - by) < 1) brush.quadraticCurveTo((ax + bx) / 2, ay - Math.min(60, 14 + Math.abs(ax - bx) / 6), bx, by);
  else if (Math.abs(ax - bx) < 1) brush.quadraticCurveTo(ax + Math.min(50, 12 + Math.abs(ay - by) / 8), (ay + by) / 2, bx, by);
  else brush.lineTo(bx, by);
  brush.stroke();
  brush.setLineDash([]);
  brush.globalAlpha = 1;
}

function paintRnic(brush, item, look, colors) {
  const { x, y, w, h } = item;
  brush.fillStyle = look === "unknown" ? colors.card : colors[look];
  brush.strokeStyle = item.odd ? colors.warn : look === "unknown" ? colors.quiet : colors.card;
  brush.lineWidth = item.odd ? 2 : 1;
  brush.setLineDash(look === "unknown" || item.odd ? [3, 2] : []);
  brush.beginPath();
  brush.roundRect(x, y, w, h, 3);
  brush.fill();
  brush.stroke();
  brush.setLineDash([]);
  if (look === "none" || look === "unknown") return;
  brush.fillStyle = look === "all" ? colors.card : colors.ink; // a corner, as in the topology
  brush.beginPath();
  brush.moveTo(x, y + h);
  brush.lineTo(x + w / 2, y + h);
  brush.lineTo(x, look === "some" ? y + 0.75 * h : y + h / 3);
  brush.fill();
}

function fitted(brush, text, width) {
  if (width < LEAST_TEXT) return "";
  let cut = text;
  while (cut.length > 1 && brush.measureText(cut === text ? cut : `${cut}…`).width > width) cut = cut.slice(0, -1);
  return cut === text ? text : `${cut}…`;
}
