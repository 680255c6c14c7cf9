// A question to the API: its answer, or an error whose message is for people.

const PATIENCE_MS = 8000;

export async function ask(url) {
  return answerOf(await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) }));
}

// A change; a key makes its repetition harmless.
export async function send(url, body, key = crypto.getRandomValues(new Uint32Array(4)).join("-")) {
  return answerOf(await fetch(url, {
    method: "POST", body: JSON.stringify(body), signal: AbortSignal.timeout(PATIENCE_MS),
    headers: { "Content-Type": "application/json", "Idempotency-Key": key },
  }));
}

async function answerOf(response) {
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401 && location.pathname !== "/login") {
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
  if (!response.ok) {
    throw Object.assign(new Error(answer.detail || `the server answered ${response.status}`), { status: response.status });
  }
  return answer;
}
