"""Writes docs/runbook.md from api/runbook/steps.toml.

``--write`` writes it; without it, exits with 1 when the file differs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from textwrap import indent
from typing import Final

from api.runbook.steps import PARTS, TableEntry, table

PAGE: Final = Path(__file__).parents[1] / "docs" / "runbook.md"
_HEAD: Final = (
    """# Runbook

Written from `api/runbook/steps.toml` by `python scripts/runbook.py --write`; a test holds this
page to it. The incident page shows the same steps with the names of the incident filled in, and
`GET /api/v1/incidents/{id}/advice` returns them.

SkeletonHunter changes nothing on hosts or switches: these steps are for people. Commands run on
the host of the incident, or on the switch where the step says so. `{rnic}` and `{host}` stand for
names of the incident; where there are several, the page fills in the first one and names the
others; where none is known, it says so and gives no command. `{end_a}` and `{end_b}` are the ends
of a link between switches.

"""
    + "".join(f"`{{{name}}}` is\n\n{indent(text, ' ' * 4)}\n\n" for name, text in PARTS.items())
    + """\
Some steps are for some places only: what is at a host (*host*, also the link of an rnic), a link
between two switches (*fabric_link*), or a switch. Where schedulers differ, a command has a line for
Slurm and one for Kubernetes: run the one that is yours.

An incident whose [issue type](issue-types.md) is undecided has the steps of its most probable
types, or else those of its kind and symptom.
"""
)


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(_section(entry) for entry in table().values())


def _section(entry: TableEntry) -> str:
    lines = [f"\n## {entry.key}\n\n{entry.means}\n\n"]
    for number, step in enumerate(entry.steps, 1):
        only = f"*{', '.join(step.at)}:* " if step.at else ""
        lines.append(f"{number}. {only}{step.do}\n")
        if step.run is not None:
            lines.append(f"\n   ```\n{indent(step.run, ' ' * 3)}\n   ```\n\n")
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
