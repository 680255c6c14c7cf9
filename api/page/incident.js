// One incident at an address of its own: where it is, why it is believed, what to do. Text only, never markup.
import { actionsOf, handledOf } from "/page/actions.js";
import { ask } from "/page/ask.js";
import { chartsOf } from "/page/charts.js";
import { age, detailOf, element, judgedAt, moment } from "/page/detail.js";
import { redraw } from "/page/redraw.js";
import { follow } from "/page/shell.js";

const PERIOD_MS = 5000;
const at = (id) => document.getElementById(id);
const id = decodeURIComponent(location.pathname.split("/").pop());
const url = `/api/v1/incidents/${encodeURIComponent(id)}`;

let drawn = ""; // what was last drawn
let chart = null;
let showActions = null;

const words = (name) => name.replaceAll("_", " ");

async function refresh() {
  if (!drawn) at("headline").textContent = `Incident ${id}`;
  const found = await ask(url);
  const [advice, series] = await Promise.all([ask(`${url}/advice`), ask(`${url}/series`)]);
  showActions ??= await actionsOf(at("do"), url, () => again());
  draw(found, advice, series);
}

function draw(found, advice, series) {
  const { incident } = found;
  drawHead(found); // its ages change without a new version
  const key = JSON.stringify([found, advice, series]);
  if (key === drawn) return;
  drawn = key;
  redraw(at("where"), ...whereOf(incident, advice.place));
  redraw(at("next"), ...advice.next_steps.flatMap((entry) => entryOf(entry, incident, advice.next_steps.length)));
  redraw(at("facts"), detailOf(found));
  showActions(found);
  at("json").href = url;
  chart?.destroy();
  chart = chartsOf(at("charts"), series);
}

function drawHead({ incident, versions, handling }) {
  document.title = `${incident.component}: ${words(incident.symptom)} · SkeletonHunter`;
  at("headline").textContent = `${incident.component}: ${words(incident.symptom)}`;
  const closed = incident.closed_at;
  at("tags").replaceChildren(
    pill(incident.state), " ", pill(incident.severity), " ",
    element("span", { class: "quiet" }, "opened "), moment(incident.opened_at),
    element("span", { class: "quiet" }, ` (${age(incident.opened_at)})`),
    ...(closed ? [element("span", { class: "quiet" }, ", closed "), moment(closed)] : []),
    element("span", { class: "quiet" }, `; ${handledOf(handling)}`));
  at("sentence").textContent = incident.evidence.text || "";
  at("counted").textContent = incident.evidence.text && incident.paths_total
    ? `As of the verdict of ${judgedAt(versions).slice(11, 19)} UTC; the whole incident is below.` : "";
}

const pill = (state) => element("span", { class: "pill", "data-state": state }, state);

// Names of each kind; many of a kind are counted and folded.
function whereOf(incident, place) {
  const rows = [
    ["fabric", [incident.fabric]], ["pod", place.pods], ["switch", place.switches.filter((name) => !place.tors.includes(name))], ["ToR", place.tors], ["host", place.hosts],
    ["rnic", place.rnics], ["container", place.containers], ["job", incident.jobs], ["tenant", incident.tenants],
  ].filter(([, names]) => names.length);
  const list = element("dl");
  for (const [kind, names] of rows) {
    const count = kind === "switch" ? names.length : place.counts[kind.toLowerCase()] ?? names.length;
    list.append(element("dt", {}, count > 1 ? plural(kind) : kind),
      element("dd", {}, ...(kind === "job" ? jobsOf(names) : [folded(names, count)])));
  }
  const ties = incident.tie_set.filter((one) => one !== incident.component);
  return ties.length
    ? [list, element("p", {}, `Probes cannot tell it from ${ties.join(", ")}.`)]
    : [list];
}

// Each leads to who is slow in it, and whether that is the network.
const jobsOf = (names) => names.flatMap((name, index) =>
  [index ? ", " : "", element("a", { href: `/jobs/${encodeURIComponent(name)}` }, name)]);

const plural = (kind) => kind === "switch" ? "switches" : `${kind}s`;

function folded(names, count) {
  if (names.length <= 4) return names.join(", ");
  const more = count > names.length ? ` and ${(count - names.length).toLocaleString("en")} more` : "";
  return element("details", {}, element("summary", {}, `${count.toLocaleString("en")}`), names.join(", ") + more);
}

function entryOf(entry, incident, entries) {
  const general = entry.for.includes("/") || entry.for === incident.symptom;
  const name = general ? "none of the catalogue" : words(entry.for);
  const title = entries > 1 ? `If it is ${name}` : general ? null : name;
  return [
    title ? element("h3", {}, title) : null,
    element("p", {}, entry.means),
    element("ol", { class: "steps" }, ...entry.steps.map((step) =>
      element("li", {}, step.do, step.run ? command(step.run) : null))),
  ].filter(Boolean);
}

// Browsers give a clipboard to pages of this machine or over TLS only; elsewhere the text is selected.
function command(text) {
  const code = element("code", {}, text);
  const button = element("button", { type: "button", class: "copy" }, navigator.clipboard ? "Copy" : "Select");
  button.addEventListener("click", async () => {
    if (!navigator.clipboard) return getSelection().selectAllChildren(code);
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  });
  return element("div", { class: "command" }, element("pre", { tabindex: "0" }, code), button);
}

at("drawn").href = `/topology?incident=${encodeURIComponent(id)}`;
const again = follow(refresh, PERIOD_MS);
