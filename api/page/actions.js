// What people do about an incident: who has it, what was done, and buttons to act. Text only, never markup.
import { ask, send } from "/page/ask.js";
import { element, moment } from "/page/detail.js";

const DONE = {
  acknowledge: "acknowledged it", assign: "assigned it to", note: "noted", resolve: "marked it as resolved",
  reopen: "reopened it", feedback: "judged it",
};
const VERDICTS = { right: "Right", wrong_component: "Wrong component", false_alarm: "False alarm" };
const STATUS = { new: "new: not acknowledged yet", acknowledged: "acknowledged", resolved: "marked as resolved" };
const NAME = "skh-name";

let me = null; // the session: a name where a token says it
const remembered = () => { try { return localStorage.getItem(NAME) || ""; } catch { return ""; } };
const remember = (name) => { try { localStorage.setItem(NAME, name); } catch { /* private window: asked again */ } };

// Draws into ``place`` once; ``done`` is called after an action. Returns a function that shows new actions.
export async function actionsOf(place, url, done) {
  me ??= await ask("/api/v1/session").catch(() => null);
  const status = element("p", { id: "handling" });
  const list = element("ol", { class: "history", id: "actions" });
  const said = element("p", { role: "status", id: "acted" });
  place.replaceChildren(status, list, ...(me && me.role !== "viewer" ? forms(act) : []), said);

  async function act(body) {
    const named = me.name ? {} : { by: document.getElementById("me").value.trim() };
    if (named.by === "") {
      said.textContent = "Not stored: enter your name first.";
      document.getElementById("me").focus();
      return false;
    }
    try {
      await send(`${url}/actions`, { ...body, ...named });
      if (named.by) remember(named.by);
      said.textContent = "Stored.";
      await done();
      return true;
    } catch (why) {
      said.textContent = `Not stored: ${why.message}.`;
      return false;
    }
  }

  return ({ handling, actions }) => {
    status.textContent = handledOf(handling);
    list.replaceChildren(...actions.map(lineOf));
  };
}

// Who has an incident, in words. What people say of it is not its state, which the localizer decides.
export function handledOf({ status, by, assignee, verdict }) {
  return `${STATUS[status]}${by ? ` by ${by}` : ""}${assignee ? `, assigned to ${assignee}` : ""}` +
    (verdict ? `, judged: ${VERDICTS[verdict].toLowerCase()}` : "");
}

function lineOf(action) {
  const what = action.verdict ? VERDICTS[action.verdict].toLowerCase() : action.assignee || "";
  const words = [action.by, DONE[action.kind], what].filter(Boolean).join(" ") + (action.text ? `: ${action.text}` : "");
  return element("li", {}, moment(action.at), element("span", {}, words));
}

function forms(act) {
  const who = me.name
    ? element("p", { class: "quiet" }, `You act as ${me.name}.`)
    : element("p", { class: "act" }, element("label", {}, "Your name ", input("me", remembered())));
  return [
    who,
    element("div", { class: "act" },
      button("Acknowledge", () => act({ kind: "acknowledge" })), button("Mark as resolved", () => act({ kind: "resolve" })),
      button("Reopen", () => act({ kind: "reopen" }))),
    form("Assign to", "assignee", "Assign", (assignee) => act({ kind: "assign", assignee })),
    form("Note", "note", "Add note", (text) => act({ kind: "note", text }), 4000),
    element("div", { class: "act", role: "group", "aria-labelledby": "judge" }, element("span", { id: "judge" }, "Was the verdict right?"),
      ...Object.entries(VERDICTS).map(([verdict, name]) => button(name, () => act({ kind: "feedback", verdict })))),
  ];
}

const input = (id, value = "", longest = 100) => {
  const made = element("input", { id, maxlength: longest, autocomplete: "off" });
  made.value = value;
  return made;
};

// One press is one action, however often it is pressed meanwhile.
function button(name, press) {
  const made = element("button", { type: "button" }, name);
  made.addEventListener("click", async () => {
    made.disabled = true;
    await press();
    made.disabled = false;
  });
  return made;
}

function form(label, id, name, press, longest = 100) {
  const field = input(id, "", longest);
  field.required = true;
  const made = element("form", { class: "act" }, element("label", {}, `${label} `, field),
    element("button", { type: "submit" }, name));
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await press(field.value.trim())) field.value = "";
  });
  return made;
}
