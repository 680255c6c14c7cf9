// Gives a token to the API, which keeps it in a cookie that no script reads; then back to where one was.
import { send } from "/page/ask.js";

const at = (id) => document.getElementById(id);

// A path of this service only: a foreign page must not lead elsewhere through it.
function back() {
  const next = new URL(new URLSearchParams(location.search).get("next") || "/", location.origin);
  return next.origin === location.origin ? next.pathname + next.search : "/";
}

at("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await send("/api/v1/session", { token: at("token").value.trim() });
    location.replace(back());
  } catch (why) {
    at("refused").textContent = `Not signed in: ${why.message}.`;
  }
});
