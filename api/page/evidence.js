// The facts of an incident's evidence, for people: name -> text, or a list of texts. Makes no elements. What it does not know stays
// as it came: evidence has any fields.
const number = (value) => value.toLocaleString("en", { maximumSignificantDigits: 6 });
const share = (value) => `${(100 * value).toFixed(1)} %`;
const shares = (found) => Object.entries(found).sort(([, a], [, b]) => b - a).map(([name, p]) => `${name} ${share(p)}`).join(", ");
const isShares = (value) => value !== null && typeof value === "object" && Object.values(value).every((each) => typeof each === "number");
const lostOf = ({ sent, lost }) => sent ? `${number(lost)} of ${number(sent)} probes lost (${share(lost / sent)})` : "no probes";

// What is shown elsewhere, or within another fact.
const ELSEWHERE = new Set(["text", "issue_types", "bad", "good", "window_s", "host_names", "warning"]);

// Field -> its name and text; a text of null leaves it out.
const FACTS = {
  alternatives: (value) => ["may also be", isShares(value) ? shares(value) : value],
  tie_set_probability: (value) => ["probabilities", shares(value)],
  instead_of: (value) => ["named instead of", value],
  share_of_five_tuples: (value) => ["hurts", `${share(value)} of its five-tuples`],
  flapping: (value) => ["comes and goes", value ? "yes" : "no"],
  hosts: (value, { host_names: names }) => ["hosts", names?.length ? `${number(value)}: ${names.join(", ")}${value > names.length ? " …" : ""}` : number(value)],
  bad_crossing: (value, { bad }) => ["bad paths that cross it", bad === undefined ? number(value) : `${number(value)} of ${number(bad)}`],
  good_crossing: (value, { good }) => ["good paths that cross it", good === undefined ? number(value) : `${number(value)} of ${number(good)}`],
  layers: (value) => ["by layer", typeof value === "string" ? value : Object.entries(value).map(([layer, counts]) => `${layer}: ${lostOf(counts)}`)],
  effect: (value, { window_s: window }, symptom) => {
    const last = window === undefined ? "" : ` (last ${number(window)} s)`;
    return symptom === "high_latency" ? ["added latency", `${value.toFixed(1)} µs${last}`] : ["loss", `${share(value)}${last}`];
  },
  source_hosts: (value) => ["seen by", `${number(value)} source host${value === 1 ? "" : "s"}`],
  examples: (value) => ["example paths", value.map((each) => each.replace(" -> ", " → "))],
  drift: ({ percent, hours }) => ["drift", `${percent > 0 ? "+" : ""}${number(percent)} % in ${number(hours)} h`],
  untraced: ({ paths, of }) => ["routes not traced", `${number(paths)} of ${number(of)} paths`],
  lof: (value) => ["outlier factor", `${number(value)} (LOF; 1 is as the others)`],
  host_evidence: ({ text, probes }) => ["the host's own evidence", [text, ...probes?.component ? [`by probes alone: ${probes.component}`] : []]],
};

export function factsOf({ evidence, symptom }) {
  const found = {};
  for (const [field, value] of Object.entries(evidence)) {
    if (ELSEWHERE.has(field)) continue;
    const [name, text] = known(field, value, evidence, symptom) ?? [field.replaceAll("_", " "), typeof value === "number" ? number(value) : value];
    found[name] = text;
  }
  return found;
}

// Any program may write evidence: a field of another form than ours is shown as it is.
function known(field, value, evidence, symptom) {
  try {
    return Object.hasOwn(FACTS, field) ? FACTS[field](value, evidence, symptom) : null;
  } catch {
    return null;
  }
}
