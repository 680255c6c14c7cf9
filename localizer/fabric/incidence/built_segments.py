"""Segments by the code of what they are of: an endpoint, two jointly, a ToR pair, a hop. No I/O.

A segment is built when a path is first made of it. ``Incidence`` has the codes in its rows.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.fabric.incidence.endpoint_codes import EndpointCodes
from localizer.fabric.incidence.segments import (
    FIRST_HOP,
    REPLY,
    REQUEST,
    ROUND_TRIP,
    SegmentBuilder,
)
from localizer.fabric.key_index import GrowableArray, KeyIndex, pair_key
from localizer.fabric.path_table import StringTables
from localizer.fabric.switch_graph import SwitchGraph

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

ECMP_SEGMENTS: Final = 3  # of one traversal, or of the round trip


class BuiltSegments:
    """The segments of one fabric; codes are those of its endpoint codes."""

    def __init__(self, graph: SwitchGraph, codes: EndpointCodes) -> None:
        self._graph, self._codes = graph, codes
        self._hop_keys = KeyIndex()
        self._bond_keys = KeyIndex(), KeyIndex()
        self.drop_columns()

    def __len__(self) -> int:
        return len(self._builder)

    @property
    def components(self) -> list[str]:
        """Component ids of the columns."""
        return self._builder.components

    @property
    def kinds(self) -> npt.NDArray[np.int8]:
        """(C,) rank of each component's kind in PREFERENCE."""
        return self._builder.kinds

    def matrices(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """(Q, C) S, forward and reverse."""
        return self._builder.matrices()

    def drop_columns(self) -> None:
        """Drop segments and columns; all are built again when they are met."""
        self._builder = SegmentBuilder(self._graph)
        self.drop()

    def drop(self) -> None:
        """Drop segments; columns stay."""
        self._builder.reset()
        # Segments by code, -1 until they are built.
        self._of_endpoint = GrowableArray(np.int32, fill=-1)
        self._of_joint = GrowableArray(np.int32, fill=-1)
        self._of_tor_pair = {
            traversal: GrowableArray(np.int32, ECMP_SEGMENTS, fill=-1)
            for traversal in (REQUEST, REPLY, ROUND_TRIP)
        }
        self._of_hop = GrowableArray(np.int32, 2, fill=-1)
        self._of_bond = GrowableArray(np.int32, fill=-1)

    def of_endpoints(self, tables: StringTables, endpoints: I64) -> I32:
        """(n,) segment of each endpoint."""
        built = self._of_endpoint
        built.grow(len(self._codes.endpoints))
        missing = _missing(built.values, endpoints)
        ends = self._codes.endpoints.values[None, :, missing]
        built.values[missing] = self._builder.endpoint_segments(ends, tables)
        return np.asarray(built.values[endpoints])

    def of_joint(self, tables: StringTables, joint: I64) -> I32:
        """(n,) segment of each two endpoints that share something."""
        built = self._of_joint
        built.grow(len(self._codes.joint))
        missing = _missing(built.values, joint)
        ends = self._codes.endpoints.values[:, self._codes.joint.values[:, missing]]
        built.values[missing] = self._builder.endpoint_segments(np.moveaxis(ends, 1, 0), tables)
        return np.asarray(built.values[joint])

    def of_tor_pairs(self, tables: StringTables, traversal: int, tor_pairs: I64) -> I32:
        """(3, n) ECMP segments between two ToRs."""
        built = self._of_tor_pair[traversal]
        built.grow(len(self._codes.tor_pairs))
        missing = _missing(built.values[0], tor_pairs)
        built.values[:, missing] = self._builder.ecmp_segments(
            traversal, self._codes.tor_pairs.values[:, missing], tables["dsw"].texts
        )
        return np.asarray(built.values[:, tor_pairs])

    def of_hops(self, traversal: int, routes: I32) -> I32:
        """(L, n) segments of traced routes, 0 behind their end."""
        crossed = routes >= 0
        before = np.vstack([np.full((1, routes.shape[1]), FIRST_HOP, np.int64), routes[:-1]])
        keys = pair_key(before[crossed], routes[crossed])
        codes, _ = self._hop_keys.code(keys)
        built = self._of_hop
        built.grow(len(self._hop_keys))
        if len(missing := np.flatnonzero(built.values[traversal, codes] < 0)):
            new, at = np.unique(codes[missing], return_index=True)
            for code, key in zip(new.tolist(), keys[missing[at]].tolist(), strict=True):
                u, v = key >> 32, key & 0xFFFF_FFFF
                built.values[traversal, code] = self._builder.hop_segment(traversal, u, v)
        segments = np.zeros(routes.shape, np.int32)
        segments[crossed] = built.values[traversal, codes]
        return segments

    def of_bonds(
        self, tables: StringTables, rnics: I32, tors: I32, leaves: I32, enters: I32
    ) -> I32:
        """(n,) segments of the links of bonded rnics.

        rnics                 (n,) codes
        tors, leaves, enters  (n,) see ``SegmentBuilder.bond_segment``; -1 for a ToR that is unknown
        """
        outer, _ = self._bond_keys[0].code(pair_key(rnics, leaves + 1))
        codes, _ = self._bond_keys[1].code(pair_key(outer, enters + 1))
        built, texts = self._of_bond, tables["real_ip"].texts
        built.grow(len(self._bond_keys[1]))
        missing = np.flatnonzero(built.values[codes] < 0)
        new, at = np.unique(codes[missing], return_index=True)
        for code, row in zip(new.tolist(), missing[at].tolist(), strict=True):
            built.values[code] = self._builder.bond_segment(
                texts[rnics[row]], int(tors[row]), int(leaves[row]), int(enters[row])
            )
        return np.asarray(built.values[codes])


def _missing(built: I32, wanted: I64) -> I64:
    """Codes that are wanted and not built yet, rising."""
    missing = np.zeros(len(built), bool)
    missing[wanted] = True
    return np.flatnonzero(missing & (built < 0))
