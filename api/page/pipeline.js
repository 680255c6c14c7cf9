// How far judging is, how much comes in, what could not be used, and what is not known here.
import { ask } from "/page/ask.js";
import { element, moment } from "/page/detail.js";
import { linesOf } from "/page/lines.js";
import { redraw } from "/page/redraw.js";
import { follow, lasting, number, plural, words } from "/page/shell.js";

const PERIOD_MS = 5000;
const OLD_S = 60;
const at = (id) => document.getElementById(id);
let charted = "";
let charts = null;

async function refresh() {
  const found = await ask("/api/v1/pipeline");
  at("summary").textContent = summaryOf(found);
  redraw(at("unknown"), ...found.unknown.length ? [element("details", { class: "note" },
    element("summary", {}, `${plural(found.unknown.length, "figure")} not known here`), element("ul", {}, ...found.unknown.map((text) => element("li", {}, text))))] : []);
  redraw(at("fabrics"), ...found.fabrics.map((each) => element("tr", {},
    element("td", {}, each.fabric || "(unnamed)"), element("td", {}, moment(each.watermark)),
    element("td", { class: "number" }, `${each.age_s > OLD_S ? "! " : ""}${lasting(Math.max(each.age_s, 0))}`),
    element("td", { class: "number" }, each.stored_lag_s === null ? "–" : lasting(Math.max(each.stored_lag_s, 0))),
    element("td", { class: "number" }, number(each.paths)))));
  drawCharts(found.rates);
  redraw(at("counts"), ...countsOf(found.process));
  redraw(at("lost"), ...lostOf(found));
  redraw(at("tables"), ...found.tables.map((each) => element("tr", {},
    element("td", {}, each.table), element("td", { class: "number" }, number(each.rows)),
    element("td", { class: "number" }, size(each.bytes)), element("td", { class: "number" }, each.rows ? size(each.bytes / each.rows) : "–"))));
}

const metric = (process, name) => process.filter(([each]) => each === name);
const value = (process, name) => metric(process, name)[0]?.[2] ?? null;

function summaryOf({ fabrics, process, dead_letters: letters }) {
  const facts = [];
  const lag = value(process, "skh_stream_lag_seconds");
  if (lag !== null) facts.push(lag > 10 ? `verdicts are ${lasting(lag)} behind` : "verdicts keep up");
  if (value(process, "skh_stream_catching_up")) facts.push("the stream worker re-reads messages after a start");
  if (value(process, "skh_sink_waiting")) facts.push("the sink waits for the database or the broker");
  const oldest = Math.max(-Infinity, ...fabrics.map((each) => each.age_s));
  if (fabrics.length) facts.push(`the newest windows end ${lasting(Math.max(oldest, 0))} ago`);
  const bad = letters.reduce((sum, each) => sum + each.records, 0);
  facts.push(bad ? `${plural(bad, "record")} could not be used in the last day` : "no dead letter in the last day");
  const text = facts.join("; ");
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function drawCharts({ times, records, probes }) {
  const key = JSON.stringify([times, records]);
  if (key === charted) return;
  charted = key;
  charts?.destroy();
  charts = null;
  // The first and the last minute are incomplete.
  const whole = times.slice(1, -1);
  if (!whole.length) return at("charts").replaceChildren(element("p", { class: "quiet" }, "No whole minute of windows is stored."));
  const rate = (values) => values.slice(1, -1).map((each) => each / 60);
  const text = (each) => `${Number(each.toPrecision(3)).toLocaleString("en")}/s`;
  const bursts = records.some((each, index) => each !== probes[index]); // else a record is a probe
  charts = linesOf(at("charts"), [
    { caption: `Records: ${text(rate(records).at(-1))} in the last whole minute, judged`, times: whole, values: rate(records), text, least: 1 },
    ...bursts ? [{ caption: `Probes: ${text(rate(probes).at(-1))} in the last whole minute`, times: whole, values: rate(probes), text, least: 1 }] : [],
  ]);
}

// Counters of this process since it started.
function countsOf(process) {
  const records = metric(process, "skh_stream_records_total");
  const sink = metric(process, "skh_sink_messages_total").reduce((sum, [, , count]) => sum + count, 0);
  const rows = [];
  if (records.length) rows.push(["records read", records.map(([, labels, count]) => `${number(count)} ${words(labels.outcome)}`).join(", ")]);
  if (sink) rows.push(["messages stored", number(sink)]);
  const behind = metric(process, "skh_sink_lag_messages").filter(([, , count]) => count).map(([, labels, count]) => `${number(count)} of ${labels.topic}`);
  if (sink) rows.push(["messages not stored yet", behind.join(", ") || "none"]);
  return rows.length ? [element("p", { class: "quiet" }, "Since this process started:"), list(rows)] : [];
}

function list(rows) {
  const made = element("dl");
  for (const [name, text] of rows) made.append(element("dt", {}, name), element("dd", {}, text));
  return made;
}

const LOSSES = [
  ["skh_stream_missing_messages_total", "deleted by the broker before the stream worker read them", "topic"],
  ["skh_sink_missing_messages_total", "deleted by the broker before the sink read them", "topic"],
  ["skh_stream_refused_total", "refused", "reason"],
  ["skh_stream_dead_letters_total", "not usable, by topic", "topic"],
  ["skh_stream_suppressed_total", "verdicts suppressed", "reason"],
  ["skh_stream_records_ahead_total", "records from the future", ""],
  ["skh_stream_chunks_repeated_total", "chunks repeated or too late", ""],
  ["skh_sink_insert_failures_total", "attempts to store that failed", ""],
];

function lostOf({ process, dead_letters: letters }) {
  const known = LOSSES.filter(([name]) => metric(process, name).length);
  const rows = known.map(([name, title, label]) => {
    const some = metric(process, name).filter(([, , count]) => count);
    return [title, some.map(([, labels, count]) => label ? `${number(count)} ${words(labels[label])}` : number(count)).join(", ") || "none"];
  });
  const table = letters.length ? element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Dead letters" }, element("table", {},
    element("caption", { class: "unseen" }, "Dead letters of the last day, by topic and reason"),
    element("thead", {}, element("tr", {}, ...["Topic", "Reason", "Records", "Newest (UTC)"].map((text, index) =>
      element("th", index === 2 ? { scope: "col", class: "number" } : { scope: "col" }, text)))),
    element("tbody", {}, ...letters.map((each) => element("tr", {}, element("td", {}, each.topic), element("td", { class: "reason" }, each.reason),
      element("td", { class: "number" }, number(each.records)), element("td", {}, moment(each.newest))))))) : element("p", {}, "No dead letter was stored in the last day.");
  return [table, ...rows.length ? [element("p", { class: "quiet" }, "Since this process started:"), list(rows)] : []];
}

function size(bytes) {
  const [unit, each] = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, least]) => bytes >= least) || ["B", 1];
  return `${Number((bytes / each).toPrecision(3))} ${unit}`;
}

follow(refresh, PERIOD_MS);
