"""The engine's errors about a statement, as its author needs them: what is wrong, and what to do.

ClickHouse writes for its administrators: codes, scopes, all tokens that its parser would have taken
instead. Of that, one sentence stays; where it does not say how to go on, a hint is added.
"""

from __future__ import annotations

import re
from typing import Final

#: Where to look for names.
TABLES: Final = (
    "SELECT name, comment FROM system.tables WHERE database = currentDatabase() lists the tables, "
    "DESCRIBE TABLE incidents_latest the columns of one"
)
ONLY_SELECT: Final = f"only SELECT, WITH ... SELECT and DESCRIBE TABLE may run here; {TABLES}"

_CODE: Final = re.compile(r"Code: \d+\. DB::Exception: ")
_NAME: Final = re.compile(r" \([A-Z_]{4,}\)\.?$")
_EXPECTED: Final = re.compile(r"\.? Expected one of: .*$", re.DOTALL)
_MIGRATE: Final = "; run `skeletonhunter migrate` first"
#: How statements begin that may run here.
_BEGINNINGS: Final = re.compile(r"\s*(--|/\*|\(|(select|with|from|describe|desc)\b)", re.IGNORECASE)
#: What the engine says -> what to do. The first one that is found counts.
_HINTS: Final = (
    ("Unknown expression identifier", "DESCRIBE TABLE lists the columns of a table"),
    ("Unknown expression or function identifier", "DESCRIBE TABLE lists the columns of a table"),
    ("cannot be resolved from", "DESCRIBE TABLE lists the columns of a table"),
    ("Unknown table expression identifier", TABLES),
    ("Limit for result exceeded", "add LIMIT, a condition on time, or sums with GROUP BY"),
    ("Limit for rows", "add a condition on time"),
    ("Timeout exceeded", "add a condition on time, or ask about fewer columns"),
    ("emory limit", "add a condition on time, or group by fewer columns"),
    ("is not set", "give its value: --param NAME=VALUE, or param_NAME=VALUE over HTTP"),
    ("for query parameter", "a DateTime is written 2026-01-31 12:00:00"),
)


def for_author(text: str, unparsed: str = "") -> str:
    """One line of an error: without codes and scopes, with what to do.

    text      what the engine said, with or without the name of the store before it
    unparsed  the statement, where the engine may not have understood it
    """
    text = _CODE.sub("", text.removesuffix(_MIGRATE)).partition(" In scope SELECT ")[0]
    text = _NAME.sub("", _EXPECTED.sub("", text)).strip().rstrip(".: ")
    for said, hint in _HINTS:
        if said in text:
            return f"{text}; {hint}"
    if unparsed.strip() and not _BEGINNINGS.match(unparsed):
        return f"{text}; {ONLY_SELECT}"
    return text
