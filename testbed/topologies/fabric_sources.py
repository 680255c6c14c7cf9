"""Every kind of fabric that a scenario may name under ``[fabric] kind``."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from schemas.documents.topology import Topology, TopologyError, load
from testbed.topologies import clos, fat_tree, lingjun
from testbed.topologies.clos import ClosSpec, at_least_one, place_jobs
from testbed.topologies.fat_tree import FatTreeSpec
from testbed.topologies.lingjun import LingjunSpec


class DocumentSpec(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="document"
):
    """A topology document. Where it places no container, jobs are dealt by the seed.

    topology  path of the document, from the scenario's directory
    """

    topology: str
    hosts_per_job: int = 16
    tenants: int = 1

    def __post_init__(self) -> None:
        at_least_one(self, ("hosts_per_job", "tenants"))


Fabric = ClosSpec | FatTreeSpec | LingjunSpec | DocumentSpec
KINDS = ("clos", "fat_tree", "lingjun", "document")


def beside(spec: Fabric, directory: Path) -> Fabric:
    """The same fabric with its files taken from ``directory`` unless their paths are absolute."""
    if isinstance(spec, DocumentSpec):
        return msgspec.structs.replace(spec, topology=str(directory / spec.topology))
    if isinstance(spec, LingjunSpec) and spec.table:
        return msgspec.structs.replace(spec, table=str(directory / spec.table))
    return spec


def build(spec: Fabric, seed: int) -> Topology:
    """The topology document; same seed, same document. Raises ValueError (one line)."""
    if isinstance(spec, ClosSpec):
        return clos.build(spec, seed)
    if isinstance(spec, FatTreeSpec):
        return fat_tree.build(spec, seed)
    if isinstance(spec, LingjunSpec):
        return lingjun.build(spec, seed)
    try:
        document = load(Path(spec.topology))
    except TopologyError as why:
        raise ValueError(f"fabric: {why}") from why
    if document.containers or not document.hosts:
        return document
    rng = np.random.default_rng([seed, 4])
    boxes = place_jobs(document.hosts, spec.hosts_per_job, spec.tenants, rng)
    return msgspec.structs.replace(document, containers=boxes)
