// What all views share: the count of active incidents in header, title and icon, and when a view is asked for again.
import { ask } from "/page/ask.js";
import { element } from "/page/detail.js";

const SETTLE_MS = 150; // versions that are stored together are asked for once
const LONGEST_MS = 60_000;
const at = (id) => document.getElementById(id);

// active: incidents by severity.
export function showActive(active) {
  const count = Object.values(active).reduce((sum, each) => sum + each, 0);
  document.title = `${count ? `(${count.toLocaleString("en")}) ` : ""}${document.title.replace(/^\([\d,]+\) /, "")}`;
  const icon = `/page/icon${count ? `-${Math.min(count, 10)}` : ""}.svg`;
  const link = document.querySelector("link[rel=icon]");
  if (link.getAttribute("href") !== icon) link.setAttribute("href", icon);
  return count;
}

function drawActive(active) {
  const count = showActive(active);
  const worst = ["P0", "P1", "P2"].find((each) => active[each]) || "none";
  if (at("active").dataset.key === `${worst}${count}`) return;
  at("active").dataset.key = `${worst}${count}`;
  at("active").replaceChildren(element("a", { class: "pill", "data-state": count ? worst : "live", href: "/?state=active" },
    count ? `${count.toLocaleString("en")} active, worst ${worst}` : "no active incident"));
}

export function warn(text) {
  at("warning").hidden = !text;
  if (at("warning").textContent !== text) at("warning").textContent = text;
}

// Asks for a view now, every period, and when an incident changes. refresh returns a promise; what it throws is shown.
export function follow(refresh, period) {
  let events = null;
  let next = null;
  let running = false;
  let again = false;
  const run = async () => {
    clearTimeout(next);
    if (running) {
      again = true;
      return;
    }
    running = true;
    const begin = performance.now();
    try {
      const [, summary] = await Promise.all([refresh(), ask("/api/v1/summary")]);
      warn("");
      drawActive(summary.active);
    } catch (why) {
      warn(`Not loaded: ${why.message}. Trying again; what is shown may be out of date.`);
    }
    running = false;
    const took = performance.now() - begin;
    next = setTimeout(run, again ? SETTLE_MS : Math.min(Math.max(period, 3 * took), LONGEST_MS));
    again = false;
  };
  const listen = () => {
    events?.close();
    events = null;
    if (document.hidden) return clearTimeout(next);
    events = new EventSource("/api/v1/stream");
    events.addEventListener("incident", () => {
      clearTimeout(next);
      next = setTimeout(run, SETTLE_MS);
    });
    run();
  };
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => events?.close());
  listen();
  return run;
}

export const number = (value) => value.toLocaleString("en");
export const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
export const percent = (share) => `${Number((100 * share).toPrecision(share < 0.1 ? 2 : 3))} %`;
export const micros = (value) => value === null ? "–" : `${Number(value.toPrecision(3))} µs`;
export const words = (name) => name.replaceAll("_", " ");
export const pill = (state, text = state) => element("span", { class: "pill", "data-state": state }, text);

// A length of time in its largest fitting unit.
export function lasting(seconds) {
  const [unit, size] = [["d", 86400], ["h", 3600], ["min", 60]].find(([, each]) => seconds >= each) || ["s", 1];
  return `${Math.round(seconds / size)} ${unit}`;
}
