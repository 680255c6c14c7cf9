// What all views share: the count of active incidents in header, title and icon, and when a view is asked for again.
import { ask } from "/page/ask.js";
import { element } from "/page/detail.js";

const NOT_FOUND = 404;
const SETTLE_MS = 150; // versions that are stored together are asked for once
const LONGEST_MS = 60_000;
export const STALE_S = 60; // without new measurements
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

// Without measurements it is not known whether an incident is active: that must not look well.
function drawActive({ active, stored_age_s: stored }) {
  const count = showActive(active);
  const worst = ["P0", "P1", "P2"].find((each) => active[each]);
  const [state, text] = count ? [worst, `${count.toLocaleString("en")} active, worst ${worst}`]
    : stored === null ? ["stale", "nothing measured yet"] : stored > STALE_S ? ["stale", "no new data"] : ["live", "no active incident"];
  const key = `${state} ${text}`;
  if (at("active").dataset.key === key) return;
  at("active").dataset.key = key;
  at("active").replaceChildren(element("a", { class: "pill", "data-state": state, href: state === "stale" ? "/pipeline" : "/?state=active" }, text));
}

export function warn(text, state = "lost") {
  at("warning").hidden = !text;
  at("warning").dataset.state = state;
  if (at("warning").textContent !== text) at("warning").textContent = text;
}

// What a summary says of measurements that have stopped; empty while they come in, and before the first.
export const staleness = ({ stored_age_s: stored }) => stored !== null && stored > STALE_S
  ? `No new measurements for ${lasting(stored)}. What is shown may be out of date.` : "";

// Of what does not exist there are no empty sections to read.
function missing(none) {
  document.querySelector("main").classList.toggle("missing", none);
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
      // Where the view is not found, the header counts incidents all the same; a view may have set another title meanwhile.
      const [, summary] = await Promise.all([refresh(), ask("/api/v1/summary").then((found) => { drawActive(found); return found; })]);
      drawActive(summary);
      warn(staleness(summary), "stale");
      missing(false);
    } catch (why) {
      missing(why.status === NOT_FOUND);
      warn(why.status === NOT_FOUND ? sentence(why.message)
        : `Not loaded: ${why.message}. Trying again; what is shown may be out of date.`);
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

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

export const number = (value) => value.toLocaleString("en");
export const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
export const percent = (share) => `${Number((100 * share).toPrecision(share < 0.1 ? 2 : 3))} %`;
export const micros = (value) => value === null ? "–" : `${Number(value.toPrecision(3))} µs`;
// The same in a column: all with as many decimals, so that they can be compared at a glance.
export const percentCell = (share, decimals = 2) => `${(100 * share).toFixed(decimals)} %`;
export const microsCell = (value) => value === null ? "–"
  : `${value.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} µs`;
export const words = (name) => name.replaceAll("_", " ");
export const pill = (state, text = state) => element("span", { class: "pill", "data-state": state }, text);

// A length of time in its largest fitting unit.
export function lasting(seconds) {
  const [unit, size] = [["d", 86400], ["h", 3600], ["min", 60]].find(([, each]) => seconds >= each) || ["s", 1];
  return `${Math.round(seconds / size)} ${unit}`;
}
