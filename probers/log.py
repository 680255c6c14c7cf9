"""The agent's log: one logfmt line per change of state on stderr; no secrets, no repetition."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from schemas.printable import printable


def say(level: str, event: str, **fields: object) -> None:
    """Write ``time=… level=… event=… key=value …``."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    parts = [f"time={now}", f"level={level}", f"event={printable(event)}"]
    parts += [f"{name}={_quoted(str(value))}" for name, value in fields.items()]
    print(" ".join(parts), file=sys.stderr, flush=True)


def _quoted(text: str) -> str:
    text = printable(text.replace("\n", " ").replace("\r", " "))
    return '"' + text.replace('"', "'") + '"' if " " in text or not text else text
