"""``skeletonhunter``; where only the agent is installed, one line says what is missing."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point; leaves through SystemExit."""
    try:
        from skeletonhunter import cli
    except ModuleNotFoundError as why:
        if (why.name or "").partition(".")[0] not in ("typer", "click", "rich"):
            raise
        # typer itself is missing: an agent's host, where the package has no extras.
        print(
            f"skeletonhunter: {why.name} is not installed; `skeletonhunter` needs the analyser's "
            "packages: pip install 'skeletonhunter[server]'",
            file=sys.stderr,
        )
        sys.exit(2)
    cli.main()


if __name__ == "__main__":
    main()
