"""Entry point of ``skeletonhunter``; without the extra ``server`` one line says what to install."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; always raises SystemExit."""
    try:
        from skeletonhunter import cli
    except ModuleNotFoundError as why:
        if (why.name or "").partition(".")[0] not in ("typer", "click", "rich"):
            raise
        # typer itself is missing: the host of an agent has the package without its extras.
        print(
            f"skeletonhunter: {why.name} is not installed; `skeletonhunter` needs the analyser's "
            "packages: pip install 'skeletonhunter[server]'",
            file=sys.stderr,
        )
        sys.exit(2)
    cli.main()


if __name__ == "__main__":
    main()
