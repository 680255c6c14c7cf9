"""Which Arrow streams have one layout: those are read together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress, pairwise
from typing import Final, NamedTuple

from schemas.limits import LIMITS, Limits
from schemas.wire.arrow import columns
from schemas.wire.arrow.layout import (
    HEADER,
    MOST_METADATA,
    Layout,
    Numbers,
    is_plain,
    layout_of,
    numbers_of,
)

_MOST_SCHEMAS: Final = 256
_MOST_LAYOUTS: Final = 2  # of one schema: an odd message must not displace the usual layout


class Group(NamedTuple):
    """Messages of one layout: their indices, ascending, their bytes and their numbers."""

    layout: Layout
    indices: list[int]
    raws: list[bytes]
    numbers: Numbers

    def part(self, some: slice) -> Group:
        """Some of the messages."""
        return Group(self.layout, self.indices[some], self.raws[some], self.numbers.select(some))

    def parts(self, most_bytes: int) -> Iterator[Group]:
        """All messages in parts of at most so many bytes, or of one message."""
        edges, size = [0], 0
        for index, raw in enumerate(self.raws):
            if size and size + len(raw) > most_bytes:
                edges.append(index)
                size = 0
            size += len(raw)
        for start, end in pairwise([*edges, len(self.raws)]):
            yield self.part(slice(start, end))


class Layouts:
    """Cache of layouts by the bytes of the schema; a schema of no layout is remembered too."""

    def __init__(self, plans: columns.Plans) -> None:
        """plans  of the columns that are read"""
        self._plans = plans
        self._layouts: dict[bytes, list[Layout] | None] = {}

    def groups(self, messages: Iterable[tuple[int, bytes]], limits: Limits = LIMITS) -> list[Group]:
        """Messages (index, bytes) that can be read together; the others are in no group."""
        by_schema: dict[bytes, list[tuple[int, bytes]]] = {}
        schema, alike = b"", list[tuple[int, bytes]]()
        for index, raw in messages:
            if not HEADER.size < len(raw) <= limits.message_bytes:
                continue
            # The schema's length is in its first bytes. Hashing it would take longer.
            if schema and raw.startswith(schema):
                alike.append((index, raw))
                continue
            mark, length = HEADER.unpack_from(raw)
            if mark == -1 and 0 < length <= MOST_METADATA:
                found_schema = raw[: HEADER.size + length]
                of_schema = by_schema.setdefault(found_schema, [])
                of_schema.append((index, raw))
                if len(found_schema) == HEADER.size + length:
                    schema, alike = found_schema, of_schema
        found: list[Group] = []
        for schema, of in by_schema.items():
            known = self._known(schema, limits)
            if known is None:
                continue
            for layout in known:
                of = _take(layout, of, found, limits)
            if of and (new := self._learn(known, [of[0][1], of[-1][1]], limits)) is not None:
                _take(new, of, found, limits)
        return found

    def _known(self, schema: bytes, limits: Limits) -> list[Layout] | None:
        """Layouts of the messages of a schema; None: they have none."""
        if schema not in self._layouts:
            if len(self._layouts) >= _MOST_SCHEMAS:
                self._layouts.clear()
            self._layouts[schema] = [] if is_plain(schema, self._plans, limits) else None
        return self._layouts[schema]

    def _learn(self, known: list[Layout], raws: list[bytes], limits: Limits) -> Layout | None:
        """A layout that is not known yet; a corrupt message must not keep us from learning it."""
        for raw in raws:
            layout = layout_of(raw, self._plans, limits)
            if layout is not None and not any(map(layout.same, known)):
                known.append(layout)
                del known[:-_MOST_LAYOUTS]
                return layout
        return None


def _take(
    layout: Layout, messages: list[tuple[int, bytes]], found: list[Group], limits: Limits
) -> list[tuple[int, bytes]]:
    """Add the messages of a layout to ``found``; returns the others."""
    if not messages:
        return []
    numbers, regular = numbers_of([raw for _, raw in messages], layout, limits)
    mask = regular.tolist()
    if True in mask:
        indices, raws = zip(*compress(messages, mask), strict=True)
        found.append(Group(layout, [*indices], [*raws], numbers.select(regular)))
    return [each for each, is_in in zip(messages, mask, strict=True) if not is_in]
