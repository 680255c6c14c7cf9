// How a loss looks: in the matrix, the topology and the views of a job alike. Knows nothing of the page.

export const SOME = 0.001; // share of probes
const MUCH = 0.01;
const ALL = 0.999;
const LEAST_LOST = 3; // probes; as the patterns in words (api/matrix_patterns.py)
const Z = 2.326; // standard deviations: 99 %, one-sided

// Least share that is lost in the long run, with 99 % certainty, where so many of so many were: the lower bound of
// Clopper and Pearson for rare events, in the approximation of Wilson and Hilferty (1931); 0 where nothing is known.
export function leastLoss(sent, lost) {
  if (!sent || !lost) return 0;
  return lost * Math.max(0, 1 - 1 / (9 * lost) - Z / (3 * Math.sqrt(lost))) ** 3 / sent;
}

// none, some, much or all; unknown without probes. What a healthy network may lose by chance is none: the color is that of
// the share that was lost, once SOME is exceeded with certainty.
export function lookOf(sent, lost) {
  if (!sent) return "unknown";
  if (lost < LEAST_LOST || leastLoss(sent, lost) < SOME) return "none";
  const share = lost / sent;
  return share >= ALL ? "all" : share >= MUCH ? "much" : "some";
}

// Whether so much is lost that it is named in words and marked.
export const isMuch = (sent, lost) => ["much", "all"].includes(lookOf(sent, lost));

// Text of each look, for legends.
export const LOOKS = [["none", "well"], ["some", "0.1 % lost or more"], ["much", "1 % or more"], ["all", "all lost"]];
