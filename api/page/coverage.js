// What no probe crosses: a fault there would stay unseen. Text only, never markup.
import { element, timeOf } from "/page/detail.js";

const number = (value) => value.toLocaleString("en");
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

// Lines about the fabrics that are not covered wholly.
export function coverageOf(items) {
  return items.filter((each) => each.uncovered || each.untraced).map((each) => {
    const facts = [];
    const are = (count) => count === 1 ? "is" : "are";
    if (each.uncovered) {
      facts.push(`${number(each.uncovered)} of ${plural(each.components, "component")} ${are(each.uncovered)} crossed by no probe`);
    }
    if (each.untraced) {
      facts.push(`${plural(each.untraced, "link")} between switches ${are(each.untraced)} crossed by none whose route is known`);
    }
    const text = `Coverage${items.length > 1 ? ` of ${each.fabric}` : ""}: ${facts.join("; ")}.`;
    return element("details", {},
      element("summary", {}, text),
      element("p", { class: "quiet" }, `A fault there can stay unseen. As of ${timeOf(new Date(each.at))} UTC, ${plural(each.paths, "path")}.`),
      names("Crossed by no probe", each.uncovered_names, each.uncovered),
      names("By none whose route is known", each.untraced_names, each.untraced));
  });
}

function names(title, shown, count) {
  if (!count) return null;
  const more = count > shown.length ? ` and ${number(count - shown.length)} more` : "";
  return element("p", {}, `${title}: ${shown.join(", ")}${more}`);
}
