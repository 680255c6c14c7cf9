"""The compiled helper of ``skeletonhunter-agent``: waits for descriptors, serves UDP sockets.

All methods but ``Poller.wait`` are for one thread, that of the loop; while it waits, others get
RuntimeError. Results are tuples that begin with a token and a kind; see
``probers.net.native_sockets``.
"""

from typing import Any, Final

INTERFACE: Final[int]

class Key:
    def __init__(self, secret: bytes, second: bytes | None = None, /) -> None: ...
    def replace(self, newer: Key, /) -> None: ...

class Socket:
    token: int
    def request(
        self,
        kind: int,
        sequence: int,
        ip: str,
        port: int,
        dscp: int,
        ttl: int,
        stamp: bool,
        which: int,
        /,
    ) -> tuple[int, int]: ...
    def close(self) -> None: ...

class Answers:
    token: int
    def serve(self, fd: int, ip: str, port: int, stamps: bool, /) -> Socket: ...

class Poller:
    def __init__(self) -> None: ...
    def watch(self, fd: int, write: bool, /) -> None: ...
    def unwatch(self, fd: int, /) -> None: ...
    def answers(
        self, key: Key, rate: float, burst: float, fresh_ns: int, sources: int, /
    ) -> Answers: ...
    def wait(self, timeout_ns: int, /) -> tuple[list[tuple[Any, ...]], list[int]]: ...
    def close(self) -> None: ...
