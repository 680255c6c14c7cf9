// Draws the children of a box anew. What did not change stays the same node, what a reader has unfolded stays open, and the
// focus of the keyboard stays on the same link or button, though the figures around it changed.

const ROW = "tr, li, dd";
const FOCUSABLE = "a, button, summary, input, select, pre, [tabindex]";

export function redraw(box, ...children) {
  const made = box.cloneNode(false);
  made.append(...children);
  const folds = named(box, "details");
  for (const [name, each] of named(made, "details")) each.open ||= folds.get(name)?.open ?? false;
  const active = box.contains(document.activeElement) ? document.activeElement : null;
  const held = active && [...named(box, FOCUSABLE)].find(([, each]) => each === active)?.[0];
  const before = [...box.childNodes];
  const now = [...made.childNodes];
  now.forEach((node, index) => {
    if (!before[index]) box.append(node);
    else if (!before[index].isEqualNode(node)) before[index].replaceWith(node);
  });
  before.slice(now.length).forEach((node) => node.remove());
  if (held && !box.contains(document.activeElement)) named(box, FOCUSABLE).get(held)?.focus({ preventScroll: true });
}

// Parts by what they are the same by in two drawings: kind, where it leads, the beginning of its row, which one of such.
function named(box, selector) {
  const counts = new Map();
  return new Map([...box.querySelectorAll(selector)].map((part) => {
    const row = part.parentElement.closest(ROW);
    const first = row && row !== box && box.contains(row) ? (row.localName === "dd" ? row.previousElementSibling : row.firstChild) : null;
    const beginning = !first || first.contains(part) ? "" : first.textContent;
    const name = [part.localName, part.getAttribute("href") ?? part.getAttribute("aria-label") ?? "", beginning].join("\n");
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return [`${name}\n${counts.get(name)}`, part];
  }));
}
