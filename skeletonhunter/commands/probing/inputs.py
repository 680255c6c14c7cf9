"""What the commands about ping lists read: topology, lists, traceroutes, the localizer's rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from controller.coverage.crossings import FiveTuple
    from schemas.documents.topology import Topology


def read_topology(path: Path) -> Topology:
    """The topology of a file; raises BadInput."""
    from skeletonhunter.arguments import read_topology as read

    topology = read(path)
    if topology is None:  # cannot happen: there is a path
        raise BadInput(f"{path}: no topology")
    return topology


def read_lists(directory: Path, topology: Topology) -> list[dict[str, Any]]:
    """The ping lists of a directory, NODE_SN.json for each host that has one; raises BadInput."""
    from probers.ping_list.document import PingListError, check_owner, parse

    documents = []
    try:
        for host in topology.hosts:
            path = directory / f"{host.node_sn}.json"
            if not path.exists():
                continue
            document = parse(path.read_bytes(), str(path))
            check_owner(document, str(path), host.node_sn, topology.fabric)
            documents.append(msgspec.to_builtins(document))
    except PingListError as why:
        raise BadInput(str(why)) from why
    except OSError as why:
        raise BadInput(f"{why.filename}: {why.strerror}; give a directory of lists") from why
    if not documents:
        raise BadInput(
            f"{directory}: no list of a host of the topology; give a directory with NODE_SN.json"
        )
    return documents


def read_routes(files: Iterable[str], topology: Topology) -> dict[FiveTuple, list[str]]:
    """Complete routes of the underlay from files of ping records; raises BadInput."""
    from controller.coverage.routes import complete_routes
    from skeletonhunter.commands.inventory import traceroutes

    return complete_routes(topology, traceroutes.read(files, topology.fabric, Counter()))
