"""Stable 64-bit ids of five-tuple paths, computed for whole columns at once.

A path id is the same on every machine, in every release and every programming language.
Definition: each text is hashed by BLAKE2b with an 8-byte digest, read as a
little-endian unsigned integer; each port is its own value; the fields are folded in order by
``h = mix(h xor field)`` from h = 0, where mix is the finaliser of splitmix64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas.compiled import native
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.wire.ping_columns import column

U64 = npt.NDArray[np.uint64]


def text_hash(text: bytes) -> int:
    """The hash of one text in UTF-8."""
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


class TextHashes:
    """64-bit hashes of texts, cached up to a bound: a flood of new names must not fill the memory.

    max_texts, max_chars  the cache is emptied when it holds as many texts or characters [count]
    """

    def __init__(self, max_texts: int = 4_000_000, max_chars: int = 64 * 1024 * 1024) -> None:
        self.cached: dict[str, int] = {}
        self.chars = 0
        self.max_texts = max_texts
        self.max_chars = max_chars

    def of(self, text: str) -> int:
        """The hash of one text."""
        value = self.cached.get(text)
        if value is None:
            value = text_hash(text.encode())
            if len(self.cached) >= self.max_texts or self.chars >= self.max_chars:
                self.cached.clear()
                self.chars = 0
            self.cached[text] = value
            self.chars += len(text)
        return value


_hashes = TextHashes()
_TEXT: Final = pa.string()
_SUBSTITUTES: Final = ("node_id", "node_sn", "real_ip", "ip")
_compiled: list[Any] = []  # the helper's table of texts, once it is needed


def _compiled_hashes(helper: ModuleType) -> Any:
    """The helper's hashes of texts; bounded as ``TextHashes``."""
    if not _compiled:
        _compiled.append(helper.TextIds())
    texts, size = _compiled[0].usage()
    if texts >= _hashes.max_texts or size >= _hashes.max_chars:
        _compiled[0].clear()
    return _compiled[0]


def column_hash(values: pa.Array) -> U64:
    """(rows,) hash of each text of a column without nulls; each distinct text is hashed once."""
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    texts = values.dictionary.to_pylist()
    known = list(map(_hashes.cached.get, texts))  # nearly always all: faster than a call for each
    table = np.array(list(map(_hashes.of, texts)) if None in known else known, np.uint64)
    if len(table) == 1:
        return np.full(len(values), table[0], np.uint64)
    hashes: U64 = table[values.indices.to_numpy(zero_copy_only=False)]
    return hashes


def mix(h: U64) -> U64:
    """Finaliser of splitmix64 (Steele, Lea, Flood 2014): each input bit affects each output bit."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def fold(fields: list[U64]) -> U64:
    """(rows,) ordered combination of hashed fields."""
    h = np.zeros(len(fields[0]), np.uint64)
    for field in fields:
        h = mix(h ^ field)
    return h


def filled(batch: pa.RecordBatch, name: str) -> pa.Array:
    """(rows,) a text column of the record, with its documented substitute where it is empty."""
    if name == "fabric":
        values = column(batch, "src_idc", "")
        return _or(values, lambda: pa.scalar(DEFAULT_FABRIC))
    if name == "layer":
        return column(batch, "agent_type", "underlay")
    values = column(batch, name, "")
    chain = _chain(name)
    return values if len(chain) == 1 else _or(values, lambda: filled(batch, chain[1]))


def _chain(name: str) -> list[str]:
    """A column, and those that are its substitute, each where the ones before are empty."""
    end, _, rest = name.partition("_")
    if rest not in _SUBSTITUTES:
        return [name]
    return [f"{end}_{each}" for each in _SUBSTITUTES[_SUBSTITUTES.index(rest) :]]


def _or(values: pa.Array, instead: Callable[[], pa.Array | pa.Scalar]) -> pa.Array:
    empty = pc.equal(values, "")
    return pc.if_else(empty, instead(), values) if empty.true_count else values


#: Fields of a five-tuple path's identity, in the order in which they are folded.
IDENTITY = ("fabric", "layer", "task_type", "src_node_id", "src_ip", "dst_node_id", "dst_ip")


def path_ids(batch: pa.RecordBatch) -> U64:
    """(rows,) path_id of each ping record that ``wire.codecs`` accepted."""
    ports = [
        column(batch, name, 0).to_numpy(zero_copy_only=False).astype(np.uint64)
        for name in ("src_port", "dst_port")
    ]
    helper = native.used()
    folded = None if helper is None else _folded(helper, batch)
    if folded is None:
        folded = fold([column_hash(filled(batch, name)) for name in IDENTITY])
    for port in ports:
        folded = mix(folded ^ port)
    return folded


def _folded(helper: ModuleType, batch: pa.RecordBatch) -> U64 | None:
    """``fold`` of the hashes of texts, without the columns between; None: these are others."""
    fields = [_sources(batch, name) for name in IDENTITY]
    if None in fields:
        return None
    known = _compiled_hashes(helper)
    for _ in range(2):
        folded = np.zeros(batch.num_rows, np.uint64)
        unknown = known.fold(folded, fields)
        if not unknown:
            return folded
        for text in unknown:
            known.add(text, text_hash(text))
    return None  # more texts than the table holds


def _sources(batch: pa.RecordBatch, name: str) -> list[Any] | None:
    """Columns of which ``filled`` takes the first text that is not empty, as the helper has them.

    None: not all are texts as the codecs give them.
    """
    if name == "layer":
        columns = [filled(batch, name)]
    else:
        found = map(
            batch.schema.get_field_index, ("src_idc",) if name == "fabric" else _chain(name)
        )
        columns = [batch.column(index) for index in found if index >= 0]
    if not all(values.type.equals(_TEXT) for values in columns):
        return None
    parts = [(*values.buffers(), values.offset) for values in columns if len(values)]
    sources = [(valid, offsets, data or b"", first) for valid, offsets, data, first in parts]
    return [*sources, DEFAULT_FABRIC.encode()] if name == "fabric" else sources


def path_id(texts: Sequence[str], src_port: int, dst_port: int) -> int:
    """The same of one path; texts: the values of ``IDENTITY``, substitutes included."""
    fields = [*map(_hashes.of, texts), src_port, dst_port]
    return int(fold([np.array([field], np.uint64) for field in fields])[0])
