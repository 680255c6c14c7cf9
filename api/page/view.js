// Which incidents the page shows. The choice is part of the page's own URL, so that a view can be sent to a
// colleague, survives a reload and is left with the back button. The server does the filtering.

export const SEVERITIES = ["P0", "P1", "P2"];
export const SIZE = 50; // incidents of a page
const STATES = { active: ["open", "ongoing"], resolved: ["resolved"] };
const LONGEST = 200; // characters that the API takes
const LAST_PAGE = 20000;

// What the API refuses in a search becomes a blank.
const clean = (text) => text.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, LONGEST).trim();

export function readView(search = location.search) {
  const given = new URLSearchParams(search);
  const page = Number.parseInt(given.get("page") || "1", 10);
  return {
    text: clean(given.get("text") || ""),
    state: given.get("state") in STATES ? given.get("state") : "",
    severity: SEVERITIES.filter((each) => given.getAll("severity").includes(each)),
    page: page >= 1 && page <= LAST_PAGE ? page : 1,
  };
}

export const changed = (view, changes) => ({ ...view, page: 1, ...changes, text: clean(changes.text ?? view.text) });

function parameters({ text, state, severity }) {
  const query = new URLSearchParams();
  if (text) query.set("text", text);
  if (state) query.set("state", state);
  for (const each of severity) query.append("severity", each);
  return query;
}

export function pageUrl(view) {
  const query = parameters(view);
  if (view.page > 1) query.set("page", view.page);
  return query.size ? `?${query}` : location.pathname;
}

export function apiUrl(view) {
  const query = parameters(view);
  query.set("order", "urgent");
  // A search finds what another incident explains too; else only what nothing stronger covers.
  query.set(view.text ? "include_children" : "include_uncovered", "true");
  query.set("limit", SIZE);
  query.set("offset", SIZE * (view.page - 1));
  return `/api/v1/incidents?${query}`;
}

// How many incidents of the server's counts a state ("" for any) and severities ([] for any) leave.
export function counted(counts, state, severities) {
  let sum = 0;
  for (const [one, bySeverity] of Object.entries(counts)) {
    if (state && !STATES[state].includes(one)) continue;
    for (const [severity, number] of Object.entries(bySeverity)) {
      if (!severities.length || severities.includes(severity)) sum += number;
    }
  }
  return sum;
}
