"""The counts of many panes as evidence for strategies, over the localizer's own incidence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from localizer.evidence import Evidence
from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.observability import Classes, classes
from localizer.fabric.path_index import PathIndex
from schemas.component_ids import kind_of
from schemas.documents.topology import Topology
from schemas.wire.window_chunks import PATH_STRINGS
from testbed.scenarios.published import ASSUMED_BACKGROUND, Trial

I64 = npt.NDArray[np.int64]

_SOURCE, _LAYER = PATH_STRINGS.index("src_node_sn"), PATH_STRINGS.index("layer")


class PooledPanes:
    """Counts by path, and what is known of the routes, of the chunks of skh.windows so far."""

    def __init__(self, topology: Topology) -> None:
        self._index, self._incidence = PathIndex(), Incidence(topology)
        self._counts: dict[str, I64] = {name: np.zeros(0, np.int64) for name in ("sent", "lost")}

    def add_pane(self, chunk: pa.RecordBatch) -> None:
        """Add a chunk of a pane."""
        (rows,), new = self._index.rows([chunk])
        self._incidence.add(new)
        more = np.zeros(len(new), np.int64)
        for name, known in self._counts.items():
            counts = np.append(known, more)
            counts[rows] += chunk.column(name).to_numpy().astype(np.int64)
            self._counts[name] = counts

    def add_routes(self, chunk: pa.RecordBatch) -> None:
        """Add traceroutes."""
        self._incidence.learn_routes(chunk)

    def trial(self, bad: frozenset[str]) -> Trial:
        """The evidence in the form of a published setting; bad: the faulty links.

        As there, the candidates are links (or a class with one in it), and strategies are given
        the same healthy loss.
        """
        factored, incidence = self._incidence.factored(), self._incidence
        live = np.ones(len(self._index), bool)
        groups = _links(classes(factored, incidence.components, live, incidence.kinds))
        sent, lost = self._counts["sent"], self._counts["lost"]
        codes = self._index.paths.codes
        overlay = self._index.tables["layer"].texts
        evidence = Evidence(
            groups, sent=sent, lost=lost, excess_us=np.zeros(len(sent)),
            noise_us=np.ones(len(sent)), bad=lost > 0, source=codes[_SOURCE].astype(np.int32),
            overlay=np.array([name == "overlay" for name in overlay], bool)[codes[_LAYER]],
            background=ASSUMED_BACKGROUND,
        )  # fmt: skip
        return Trial(evidence, groups.members, bad)


def _links(groups: Classes) -> Classes:
    """The classes that hold a link."""
    kept = [
        column for column, names in enumerate(groups.members)
        if any(kind_of(name) == "link" for name in names)
    ]  # fmt: skip
    columns = np.array(kept, np.int64)
    return Classes(
        [groups.members[column] for column in kept], groups.directed[columns],
        groups.tunnels[columns], groups.factored.select(columns),
    )  # fmt: skip
