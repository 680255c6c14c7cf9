// A question to the API: its answer, or an error whose message is for people.

const PATIENCE_MS = 8000;

export async function ask(url) {
  const response = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.detail || `the server answered ${response.status}`);
  return answer;
}
