"""The compiled helper: waits for descriptors, serves UDP sockets, encodes and reads records.

Of ``Poller`` and what it makes, all methods but ``Poller.wait`` are for one thread, that of the
loop; while it waits, others get RuntimeError. Results are tuples that begin with a token and a
kind; see ``probers.net.native_sockets``.
"""

from typing import Any, Final

from numpy.typing import NDArray

Buffer = bytes | bytearray | NDArray[Any]

INTERFACE: Final[int]

def arrow_batch(
    index: dict[str, int],
    types: str,
    records: list[dict[str, Any]],
    common: list[dict[str, Any]],
    /,
) -> tuple[bytes, bytes]:
    """The numbers of the columns that have values, and a message with one batch of them.

    index    number of a column by its name; names that are not in it are left out
    types    of each column: s string, d float64, q int64, i int32
    common   for each record, what else belongs to it: the record's own values win; or no entry
    Values are of the exact types str, float and int, or None: null. Raises TypeError for others,
    OverflowError for one out of range.
    """

def arrow_frames(
    raw: bytes, most: int, /
) -> tuple[tuple[int, int], list[tuple[int, int]], int, bool] | None:
    """Frames of an Arrow IPC stream, ``most`` at most: ``schemas.wire.arrow.frames.Frames``; None:
    the stream is refused, and why is not said."""

def chunk_is_valid(
    raw: bytes, schema: bytes, widths: bytes, rows: int, name_bytes: int, decoded_bytes: int, /
) -> bool:
    """Whether an Arrow IPC stream of one batch is whole, so that all that ``pyarrow`` and
    ``schemas.wire.window_chunks`` check holds. False: it is not, or it is unusual (a null, names
    that are no ASCII, another schema).

    schema         the frame that it must begin with
    widths         a byte for each column, of its values [B]; 0: int32 indices of its own dictionary
                   of texts, whose number is that of the columns before it that have one
    rows           at most
    name_bytes     of a text, at most
    decoded_bytes  of all texts, written out in each row, at most
    """

def join_columns(
    raws: list[bytes], rows: Buffer, nulls: Buffer, starts: Buffer, lengths: Buffer,
    columns: Buffer, /,
) -> list[tuple[bytes | None, bytes | None, bytes, bool]] | None:  # fmt: skip
    """Columns of Arrow messages of one layout, as ``schemas.wire.arrow.alike.Buffers``.

    rows, nulls, starts, lengths  int64: ``schemas.wire.arrow.layout.Numbers``
    columns  int64, three of each: number of the column and of its first buffer, width, 0: texts
    None: a message is not as its numbers say, or the offsets of its texts are not valid. UTF-8 is
    not checked.
    """

def compact_codes(codes: Buffer, rows: Buffer, places: Buffer, used: Buffer, /) -> int:
    """Codes of some rows as places among those codes that they use.

    codes   int32, each below the length of ``used``
    rows    int32, which codes
    places  int32, written: of the code of each row, where it is in ``used``
    used    int32, written: the codes that are used, ascending
    Returns how many are used. Raises ValueError for a row or a code out of range.
    """

def code_texts(column: tuple[Any, ...] | bytes, codes: Buffer, firsts: Buffer, /) -> int:
    """The texts of a column as codes 0, 1, ... in the order in which they first come.

    column  bitmap or None, int32 offsets, texts, first row; a null is the empty text
    codes   int32, written: of each row
    firsts  int32, of the same length, written: the row in which each code first comes
    Returns how many codes there are. Raises ValueError for an offset outside of the texts.
    """

Likelihood = tuple[int, Buffer, Buffer, float, float, float]

def split_atoms(
    likelihood: Likelihood, weight: Buffer, damage: Buffer, rows: Buffer, chances: Buffer,
    added: Buffer, /,
) -> None:  # fmt: skip
    """Let culprits change the atoms of paths, as ``localizer.strategies.hypothesis.atoms``.

    likelihood     0, answers (R,), losses (R,), ln of a healthy round trip's survival, 0, 0; or
                   1, excess (R,) and noise (R,) [us], varies, freedom, most of a residual
    weight, damage float64 (R, most), written; a weight of -1e30: no atom
    rows, added    int64, float64 (n,): in turn, a path and what one crossing of a culprit adds
    chances        float64 (n, 3): logarithms of the probabilities of no, one and two crossings
    Raises ValueError for a row out of range and for more than 64 atoms.
    """

def mix_atoms(
    likelihood: Likelihood, weight: Buffer, damage: Buffer, rows: Buffer, more: Buffer,
    out: Buffer, /,
) -> None:  # fmt: skip
    """ln likelihood of paths if their damage grows, as ``split_atoms`` has it.

    rows, more  int64 (n,), float64 (G,)
    out         float64 (n, G), written
    """

def atoms_gain(
    likelihood: Likelihood, weight: Buffer, damage: Buffer, sorts: tuple[Buffer, Buffer, Buffer],
    crossed: Buffer, shares: Buffer, gain: Buffer, /,
) -> None:  # fmt: skip
    """ln likelihood ratios of sorts, as ``Rows.gain``.

    sorts            int64 (n,) path, float64 (n,) probabilities to be crossed once and twice; those
                     of a path beside each other
    crossed, shares  float64 (G,): what one crossing adds, share of five-tuples that it hits
    gain             float64 (n, G), written
    """

def flat_json(
    raws: list[bytes], names: tuple[bytes, ...], types: str, limits: tuple[int, int, int, int], /
) -> tuple[list[int], list[tuple[int, bytes | None, bytes, bytes | None]]]:
    """Rows of messages of one flat JSON object per line.

    types    of each name: s string, d float64, q int64, i int32, x: a message with it is of another
             form; values of other names are left out
    limits   most rows of a message, fewest bytes a row on average, most bytes of a row, most
             opening brackets in a row
    Returns how many rows of each message were read, and the columns of all these rows that have a
    value: number, bitmap or None, values or int32 offsets, texts or None. -1: the message is of
    another form (over a limit, nested, surrogates, a name twice, a value that is not exactly of its
    column's type, an empty line), and none of its rows was read.
    """

def rows_are_valid(
    rows: int, texts: list[tuple[Any, ...]], numbers: list[tuple[Any, ...]], /
) -> bool:
    """Whether all values obey the rules of their columns.

    texts    bitmap or None, int32 offsets, texts, first row, whether neither null nor empty,
             longest [B], allowed texts or None
    numbers  bitmap or None, values, first row, whether not null, type (i int32, q int64,
             d float64), least, greatest
    """

def count_segments(slots: Buffer, ends: Buffer, /) -> None:
    """Write where the paths of each segment end, if all lie in one array.

    slots  (width, paths) int32, segments of each path; 0: none
    ends   (segments + 1,) int64, zeros; the first stays 0, segment q gets ``ends[q + 1]``
    """

def segment_paths(slots: Buffer, starts: Buffer, out: Buffer, /) -> None:
    """Write the paths of each segment, rising, into ``out`` (int32).

    starts  (segments,) int64, where those of each begin; they are moved to where they end
    """

def sum_segments(edges: Buffer, paths: Buffer, values: Buffer, sums: Buffer, /) -> None:
    """Write the sum over the paths of each segment, added in the order of ``paths``.

    edges   (segments + 1,) int64, where in ``paths`` (int32) those of each begin and end
    values  float64 by path; sums (segments,) float64
    """

def add_segments(slots: Buffer, rows: Buffer, values: Buffer, sums: Buffer, /) -> None:
    """Add the values (float64) of some paths (int64) to the sums of all their segments, slot 0
    included; column by column of ``slots`` (int32), each in the order of ``rows``."""

def sum_pings(
    parts: list[tuple[NDArray[Any], ...]], start_ns: int, path: Buffer, counts: Buffer,
    mean: Buffer, samples: Buffer, /,
) -> tuple[int, int]:  # fmt: skip
    """The pane of a second, as ``streams.windowing.panes.close_pane``.

    parts     path, time_ns, rtt_ns, sent, lost, refused of each; ``n`` records in all
    path      (n,) int32, written: paths, ascending
    counts    (5, n) uint32, written: records, sent, lost, refused, rtt_count
    mean      (n,) float32, written [us]; samples (n,) uint64, written
    Returns how many paths and how many samples there are; what lies behind them is of no use.
    Raises ValueError for a record of another second.
    """

def sum_panes(
    panes: list[tuple[NDArray[Any], ...]], path: Buffer, counts: Buffer, features: Buffer, /
) -> int:
    """Sums and features of panes, as ``streams.windowing.panes.close_window``.

    panes     path, records, sent, lost, refused, rtt_count, samples of each
    path      (bound,) int32, written: paths of the window, ascending; each is below ``bound``
    counts    (5, bound) uint32, written; features (7, bound) float32, written
    Returns how many paths the window has; what lies behind them is of no use.
    """

class TextIds:
    """Numbers of texts; a text too many of the same place in the table stays unknown."""

    def add(self, text: bytes, number: int, /) -> None: ...
    def clear(self) -> None: ...
    def usage(self) -> tuple[int, int]:
        """Texts that are known, and their size [B]."""

    def fold(self, ids: Buffer, fields: list[list[tuple[Any, ...] | bytes]], /) -> list[bytes]:
        """``h = mix(h xor number)`` of each text of each field, as ``schemas.identity`` has it.

        ids     uint64, written
        fields  of each its columns, of which the first counts that is neither null nor empty:
                bitmap or None, int32 offsets, texts, first row; or one text of all rows
        Returns the texts that are unknown, once or more often; then ``ids`` is of no use.
        """

class KeyCodes:
    """Keys (uint64) -> codes (int64) 0, 1, ... in order of arrival."""

    def __len__(self) -> int: ...
    def find(self, keys: Buffer, codes: Buffer, /) -> None:
        """Write the codes; -1 where a key is unknown."""

    def code(self, keys: Buffer, codes: Buffer, first: Buffer, /) -> int:
        """Write the codes, unknown keys added, and into ``first`` (int64, of the same length) where
        each of the new ones is first; returns how many these are."""

    def retain(self, mask: Buffer, /) -> None:
        """Drop all codes but those of a mask, a byte each; the rest close the gaps."""

class Key:
    def __init__(self, secret: bytes, second: bytes | None = None, /) -> None: ...
    def replace(self, newer: Key, /) -> None: ...

class Socket:
    token: int
    def request(
        self, kind: int, sequence: int, ip: str, port: int, dscp: int, ttl: int, which: int, /
    ) -> int: ...
    def probe(
        self, tag: int, ip: str, port: int, dscp: int, timeout_ns: int, grid_ns: int, /
    ) -> None: ...
    def forget(self, tag: int, /) -> None: ...
    def close(self) -> None: ...

class Answers:
    token: int
    def serve(self, fd: int, ip: str, port: int, stamps: bool, /) -> Socket: ...

class Poller:
    def __init__(self) -> None: ...
    def watch(self, fd: int, write: bool, /) -> None: ...
    def unwatch(self, fd: int, /) -> None: ...
    def answers(
        self, key: Key, rate: float, burst: float, fresh_ns: int, sources: int,
        flow_rest_ns: int, /,
    ) -> Answers: ...  # fmt: skip
    def wait(self, timeout_ns: int, /) -> tuple[list[tuple[Any, ...]], list[int]]: ...
    def close(self) -> None: ...
