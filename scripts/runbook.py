"""Writes docs/runbook.md from api/runbook/steps.toml.

``--write`` writes it; without it, exits with 1 when the file differs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from api.runbook.steps import Entry, table

PAGE: Final = Path(__file__).parents[1] / "docs" / "runbook.md"
_HEAD: Final = """# Runbook

Written from `api/runbook/steps.toml` by `python scripts/runbook.py --write`; a test holds this
page to it. The incident page shows the same steps with the names of the incident filled in, and
`GET /api/v1/incidents/{id}/advice` returns them.

SkeletonHunter changes nothing on hosts or switches: these steps are for people. Commands run on
the host of the incident. `{rnic}`, `{host}` and so on stand for names of the incident, `{dev}` for

    DEV=$(ip -br addr | awk -v a={rnic} 'index($0, " " a "/") {print $1; exit}')

An incident whose [issue type](issue-types.md) is undecided has the steps of its most probable
types, or else those of its kind and symptom.
"""


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(_section(entry) for entry in table().values())


def _section(entry: Entry) -> str:
    lines = [f"\n## {entry.key}\n\n{entry.means}\n\n"]
    for number, step in enumerate(entry.steps, 1):
        lines.append(f"{number}. {step.do}\n")
        if step.run is not None:
            lines.append(f"\n   ```\n   {step.run}\n   ```\n\n")
    return "".join(lines).rstrip() + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Write or compare; returns the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--write", action="store_true", help="write the page")
    if options.parse_args(arguments).write:
        PAGE.write_text(page())
        return 0
    if PAGE.read_text() == page():
        return 0
    print(f"{PAGE} differs from api/runbook/steps.toml; run scripts/runbook.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
