"""What the commands of ``fabric`` share: options, and errors of the testbed as one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from skeletonhunter.errors import BadInput

DIRECTORY: Final = Path("/run/skeletonhunter")

StateDirectory = Annotated[Path, typer.Option("--state", help="Where fabrics are remembered.")]
Name = Annotated[str | None, typer.Option(help="Which fabric; the only one, if there is one.")]


@contextmanager
def testbed_errors() -> Iterator[None]:
    """Raise errors of the testbed as BadInput: one line, exit code 2."""
    from probers.publishing.publisher import PublishError
    from testbed.netns import FabricError, FaultError, UnknownComponent

    try:
        yield
    except (FabricError, FaultError, UnknownComponent, PublishError) as why:
        raise BadInput(str(why)) from why
