// Loss and round trips between ToRs, pods or hosts. The view is part of the address. Text only, never markup.
import { ask } from "/page/ask.js";
import { element, moment } from "/page/detail.js";
import { LOOKS, lookOf } from "/page/loss.js";
import { follow, micros, microsCell, percent, percentCell } from "/page/shell.js";

const PERIOD_MS = 5000;
const STEP_S = 30;
const WORST = 20;
const LARGEST = 620; // pixels of the picture's side
const LEAST_NAMED = 12; // pixels of a cell: rows and columns of smaller ones have no names
const MOST_NAME = 110; // pixels of a name
const FONT = "11px system-ui, sans-serif";
const at = (id) => document.getElementById(id);
const FIELDS = ["by", "measure", "layer", "seconds"];

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const name = (text) => text || "(unnamed)";

let shown = { names: [], cells: [], side: 1, edge: 0 };
let until = null; // end of the time that is shown; null: now
let turn = 0;
let cellAt = null; // row and column of the cell that was pointed at last
let past = ""; // what was asked about an earlier time and is shown

function readView() {
  const given = new URLSearchParams(location.search);
  for (const field of FIELDS) {
    const wanted = given.get(field);
    if (wanted !== null && [...at(field).options].some((option) => option.value === wanted)) at(field).value = wanted;
  }
  const time = Date.parse(given.get("until") || "");
  until = Number.isNaN(time) ? null : new Date(time);
}

// The slider stands where the time is that is shown, also after a reload and when a colleague opens the address.
function drawSlider() {
  const steps = until ? Math.round((until - Date.now()) / 1000 / Number(at("seconds").value)) : 0;
  at("ago").value = until ? Math.min(steps, -1) : 0;
}

function writeView() {
  const query = new URLSearchParams();
  for (const field of FIELDS) {
    if (at(field).selectedIndex > 0) query.set(field, at(field).value);
  }
  if (until) query.set("until", until.toISOString());
  history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
}

async function refresh() {
  const query = new URLSearchParams({ by: at("by").value, seconds: at("seconds").value });
  if (at("layer").value) query.set("layer", at("layer").value);
  if (until) query.set("until", until.toISOString());
  const asked = String(query);
  if (until && asked === past) return; // it does not change
  const mine = ++turn;
  const answer = await ask(`/api/v1/matrix?${asked}`);
  if (mine !== turn) return;
  past = until ? asked : "";
  draw(answer);
}

function draw({ names, cells, patterns, since_s: since, until_s: end }) {
  const text = names.length ? patterns.join(" ") : "No windows are stored for this time.";
  if (at("patterns").textContent !== text) at("patterns").textContent = text;
  const [from, to] = since === null ? [] : [since, end].map((seconds) => moment(new Date(1000 * seconds).toISOString()).textContent);
  at("when").textContent = since === null ? (until ? "Earlier" : "Now") : `${until ? "Earlier" : "Now"}: ${from} to ${to} UTC`;
  at("ago").setAttribute("aria-valuetext", at("when").textContent);
  const ratio = devicePixelRatio || 1;
  const canvas = at("matrix");
  const brush = canvas.getContext("2d");
  brush.font = FONT;
  const room = Math.min(LARGEST, document.querySelector(".sheet").clientWidth - 40);
  const sideIn = (width) => Math.max(1, Math.min(28, Math.floor(width / Math.max(1, names.length))));
  const widest = Math.ceil(Math.min(MOST_NAME, Math.max(0, ...names.map((each) => brush.measureText(name(each)).width)))) + 6;
  const edge = names.length && sideIn(room - widest) >= LEAST_NAMED ? widest : 0; // for names, left and on top
  const side = sideIn(room - edge);
  if (cellAt && !cellAt.every((each) => each in names)) cellAt = null;
  shown = { names, cells, side, edge, known: new Map(cells.map((cell) => [cell[0] * names.length + cell[1], cell])) };
  const size = edge + names.length * side;
  canvas.width = canvas.height = Math.max(1, size * ratio);
  canvas.style.width = canvas.style.height = `${size}px`;
  canvas.setAttribute("aria-label", `${names.length} by ${names.length} cells: arrow keys move between them`);
  brush.scale(ratio, ratio);
  if (edge) drawNames(brush, names, side, edge);
  brush.translate(edge, edge);
  brush.fillStyle = color("--loss-unknown");
  brush.fillRect(0, 0, names.length * side, names.length * side);
  const paint = at("measure").value === "loss" ? byLoss() : byRoundTrip(cells);
  const gap = side > 4 ? 1 : 0;
  for (const cell of cells) {
    brush.fillStyle = paint(cell);
    brush.fillRect(cell[1] * side, cell[0] * side, side - gap, side - gap);
  }
  drawWorst(names, cells);
}

// Senders at the rows; who answers, upwards, at the columns.
function drawNames(brush, names, side, edge) {
  brush.font = FONT;
  brush.fillStyle = color("--quiet");
  brush.textBaseline = "middle";
  brush.textAlign = "right";
  names.forEach((each, row) => brush.fillText(name(each), edge - 4, edge + (row + 0.5) * side, edge - 4));
  brush.textAlign = "left";
  names.forEach((each, column) => {
    brush.save();
    brush.translate(edge + (column + 0.5) * side, edge - 4);
    brush.rotate(-Math.PI / 2);
    brush.fillText(name(each), 0, 0, edge - 4);
    brush.restore();
  });
}

function byLoss() {
  const colors = Object.fromEntries(LOOKS.map(([look]) => [look, color(`--loss-${look}`)]));
  at("scale").replaceChildren(...LOOKS.map(([look, text]) => key(colors[look], text)), key(color("--loss-unknown"), "no probes"));
  return ([, , sent, lost]) => colors[lookOf(sent, lost)];
}

function byRoundTrip(cells) {
  const known = cells.map((cell) => cell[4]).filter((rtt) => rtt !== null).sort((a, b) => a - b);
  const [low, high] = [known[Math.floor(0.05 * known.length)] ?? 1, known[Math.floor(0.98 * known.length)] ?? 1];
  const shade = (part) => `hsl(${215 - 200 * part} 70% ${matchMedia("(prefers-color-scheme: dark)").matches ? 45 : 55}%)`;
  at("scale").replaceChildren(key(shade(0), `${Number(low.toPrecision(3))} µs`), key(shade(1), `${Number(high.toPrecision(3))} µs and more`),
    key(color("--loss-all"), "no answers"), key(color("--loss-unknown"), "no probes"));
  return ([, , , , rtt]) => rtt === null ? color("--loss-all")
    : shade(Math.min(1, Math.max(0, Math.log(rtt / low) / Math.log(Math.max(high / low, 1.001)))));
}

const key = (fill, text) => {
  const box = element("i");
  box.style.background = fill;
  return element("span", {}, box, text);
};

function drawWorst(names, cells) {
  const worst = (cell) => at("measure").value === "loss" ? cell[3] / cell[2] : cell[4] ?? Infinity;
  const rows = cells.filter((cell) => at("measure").value !== "loss" || cell[3] > 0)
    .sort((a, b) => worst(b) - worst(a)).slice(0, WORST);
  const body = at("worst").tBodies[0];
  body.replaceChildren(...rows.map(([src, dst, sent, lost, rtt]) => element("tr", {},
    element("td", {}, name(names[src])), element("td", {}, name(names[dst])),
    element("td", { class: "number" }, percentCell(lost / sent)), element("td", { class: "number" }, sent.toLocaleString("en")),
    element("td", { class: "number" }, microsCell(rtt)))));
  at("worst").hidden = !rows.length;
}

// A cell in words, by the numbers of its row and column.
function say(src, dst) {
  const { names, known } = shown;
  if (!(src in names) || !(dst in names)) return;
  cellAt = [src, dst];
  const cell = known.get(src * names.length + dst);
  at("cell").textContent = `${name(names[src])} to ${name(names[dst])}: ` + (cell
    ? `${cell[3].toLocaleString("en")} of ${cell[2].toLocaleString("en")} probes lost (${percent(cell[3] / cell[2])}), ` +
      (cell[4] === null ? "no answers" : `median round trip ${micros(cell[4])}`)
    : "no probes");
}

for (const kind of ["pointermove", "pointerdown"]) { // a finger does not move over a cell
  at("matrix").addEventListener(kind, ({ offsetX: x, offsetY: y }) =>
    say(Math.floor((y - shown.edge) / shown.side), Math.floor((x - shown.edge) / shown.side)));
}
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
at("matrix").addEventListener("keydown", (event) => {
  const step = STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  say(...(cellAt ? cellAt.map((each, axis) => each + step[axis]) : [0, 0]));
});

for (const field of FIELDS) {
  at(field).addEventListener("change", () => {
    writeView();
    drawSlider();
    past = "";
    again();
  });
}
at("ago").addEventListener("input", () => {
  const ago = -Number(at("ago").value);
  until = ago ? new Date(1000 * STEP_S * (Math.floor(Date.now() / 1000 / STEP_S) - ago * Number(at("seconds").value) / STEP_S)) : null;
  writeView();
  again();
});
at("controls").addEventListener("submit", (event) => event.preventDefault());

readView();
drawSlider();
const again = follow(refresh, PERIOD_MS);
