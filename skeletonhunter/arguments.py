"""Arguments that several commands share, read and checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from schemas.documents.topology import Topology


def known_strategy(name: str, where: str) -> str:
    """The name; raises BadInput for one that is not registered.

    where  the option or variable that gave it, for the message
    """
    from localizer import strategies
    from localizer.errors import UnknownStrategy

    try:
        strategies.get(name)
    except UnknownStrategy as why:
        raise BadInput(f"{where}: {why}") from why
    return name


def read_topology(path: Path | None) -> Topology | None:
    """The topology of a file, None without one; raises BadInput."""
    from schemas.documents.topology import TopologyError, load

    try:
        return None if path is None else load(path)
    except TopologyError as why:
        raise BadInput(str(why)) from why
