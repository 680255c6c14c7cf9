"""The compiled helper of ``skeletonhunter-agent``: waits for descriptors, serves UDP sockets.

All methods but ``Poller.wait`` are for one thread, that of the loop; while it waits, others get
RuntimeError. Results are tuples that begin with a token and a kind; see
``probers.net.native_sockets``.
"""

from typing import Any, Final

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
