// One measure over time as a line chart, with a caption in words.
import uPlot from "/page/vendor/uplot.js";
import { element } from "/page/detail.js";

const HEIGHT = 170;
const STEPS_S = [60, 120, 300, 600, 900, 1800, 3600, 7200, 14400]; // between two marks of the axis of time
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const clock = (seconds, until = 16) => new Date(1e3 * seconds).toISOString().slice(11, until);

// What a legend has of a series: the value at the pointer, without one the newest.
export const legendOf = (text) => (plot, raw, series, index) => {
  const value = index === null || index === undefined ? plot.data[series].findLast((each) => each !== null) : raw;
  return value === null || value === undefined ? "–" : text(value);
};

// charts: [{ caption, times, values, text, least }], text: a value in words; least: of the highest value on the axis.
// Draws into a box; returns what ends the drawing.
export function linesOf(box, charts) {
  const plots = [];
  box.replaceChildren();
  for (const { caption, times, values, text, least } of charts) {
    const drawing = element("div");
    box.append(element("figure", {}, element("figcaption", {}, caption), drawing));
    const axis = { stroke: color("--quiet"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line") } };
    plots.push(new uPlot({
      width: Math.max(drawing.clientWidth, 200), height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(1e3 * seconds), "Etc/UTC"),
      scales: { y: { range: (_, low, high) => [0, Math.max(1.1 * high, least)] } },
      padding: [8, 28, 0, 0],
      axes: [{ ...axis, incrs: STEPS_S, space: 50, values: (_, marks) => marks.map((each) => clock(each)) }, { ...axis, size: 70, values: (_, marks) => marks.map(text) }],
      series: [{ label: "time", value: legendOf((raw) => `${clock(raw, 19)} UTC`) },
        { label: caption.split(":")[0], stroke: color("--link"), width: 2, value: legendOf(text), points: { show: times.length < 3 } }],
    }, [times, values], drawing));
  }
  const resized = new ResizeObserver(() => plots.forEach((plot) =>
    plot.setSize({ width: Math.max(plot.root.parentElement.clientWidth, 200), height: HEIGHT })));
  resized.observe(box);
  return { destroy() { resized.disconnect(); plots.forEach((plot) => plot.destroy()); } };
}
