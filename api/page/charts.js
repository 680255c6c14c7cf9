// Loss and round trips of an incident's bad paths beside other paths of the same hosts, with a sentence for each.
import uPlot from "/page/vendor/uplot.js";
import { element } from "/page/detail.js";
import { legendOf } from "/page/lines.js";

const HEIGHT = 190;
const WINDOW_S = 30; // a point is what was measured in so many seconds before it
const MINUTE_S = 60; // marks of the axis that are closer show seconds
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const MEASURES = [
  { name: "loss", title: "Loss", text: (value) => `${Number((100 * value).toPrecision(2))} %`, scale: (value) => 100 * value,
    axis: (value) => `${value} %` },
  { name: "rtt_us", title: "Round trip, median", text: (value) => `${Number(value.toPrecision(3))} µs`, scale: (value) => value,
    axis: (value) => `${value} µs` },
];

// Draws into a box; returns what ends the drawing.
export function chartsOf(box, series) {
  const plots = [];
  if (!series.times.length || !series.bad.sent.length) {
    box.replaceChildren(element("p", { class: "quiet" }, "No windows of its bad paths are stored."));
    return { destroy() {} };
  }
  box.replaceChildren();
  const ends = series.times.map((time) => time + WINDOW_S);
  for (const measure of MEASURES) {
    const [bad, others] = [series.bad, series.others].map((each) => each[measure.name]);
    const drawing = element("div");
    box.append(element("figure", {}, element("figcaption", {}, sentence(measure, series, bad)), drawing, element("p", { class: "quiet marks" },
      element("i"), series.closed_s === null ? "first bad second" : "first bad second, and end")));
    const lines = (values) => values.length ? values.map((value) => value === null ? null : measure.scale(value))
      : series.times.map(() => null);
    plots.push(new uPlot(options(measure, series, drawing.clientWidth), [ends, lines(bad), lines(others)], drawing));
  }
  const resized = new ResizeObserver(() => plots.forEach((plot) =>
    plot.setSize({ width: plot.root.parentElement.clientWidth, height: HEIGHT })));
  resized.observe(box);
  return { destroy() { resized.disconnect(); plots.forEach((plot) => plot.destroy()); } };
}

// What it was before and is since: the mean of the windows that lie wholly on one side.
function sentence({ title, text, name }, { times, opened_s: opened, closed_s: closed }, values) {
  const mean = (wanted) => {
    const some = values.filter((value, index) => value !== null && wanted(times[index]));
    return some.length ? some.reduce((a, b) => a + b) / some.length : null;
  };
  const before = mean((time) => time + WINDOW_S <= opened);
  const since = mean((time) => time >= opened && (closed === null || time + WINDOW_S <= closed));
  if (since === null) return `${title} of the bad paths`;
  const usual = before === null ? "" : `${text(before)} before, `;
  return `${title} of the bad paths: ${usual}${text(since)}${closed === null ? " since" : " while it lasted"}` +
    (name === "loss" ? "" : " on average");
}

// Hours and minutes in UTC; seconds with 19.
const clock = (seconds, until = 16) => new Date(1e3 * seconds).toISOString().slice(11, until);

function options(measure, series, width) {
  const axis = { stroke: color("--quiet"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line") } };
  const value = legendOf((raw) => measure.axis(Number(raw.toPrecision(3))));
  return {
    width: Math.max(width, 200), height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(1e3 * seconds), "Etc/UTC"),
    scales: { y: { range: (_, low, high) => [0, Math.max(high * 1.1, measure.name === "loss" ? 1 : 5)] } },
    padding: [8, 28, 0, 0],
    axes: [{ ...axis, space: 62, values: (_, marks, axisIndex, space, step) => marks.map((each) => clock(each, step < MINUTE_S ? 19 : 16)) }, { ...axis, size: 64, values: (_, marks) => marks.map(measure.axis) }],
    series: [
      { label: "time", value: legendOf((raw) => `${clock(raw, 19)} UTC`) },
      { label: "bad paths", stroke: color("--bad"), width: 2, value, points: { show: false } },
      { label: "others of the same hosts", stroke: color("--good"), width: 2, dash: [6, 3], value, points: { show: false } },
    ],
    hooks: { draw: [(plot) => {
      for (const moment of [series.opened_s, series.closed_s]) {
        if (moment !== null) mark(plot, moment);
      }
    }] },
  };
}

function mark(plot, seconds) {
  const x = plot.valToPos(seconds, "x", true);
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = color("--accent");
  ctx.lineWidth = 2;
  ctx.setLineDash([4, 4]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}
