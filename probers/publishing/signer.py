"""Signs the messages that a host publishes, with the key from a file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from time import time_ns
from typing import Final

from schemas import topics
from schemas.secret_files import SecretFileError, read_secret
from schemas.signing.headers import RELAY_CLIENT, RELAY_TENANT, SIGNATURE
from schemas.signing.keys import HostKey, SigningError
from schemas.signing.signature import sign

KEY_FILE_VARIABLE: Final = "SKH_SENDER_KEY_FILE"


class SenderKeyError(ValueError):
    """The sender's key cannot be used; one line: where, what, what to do; without the key."""


def read_key(path: str | Path, node_sn: str, fabric: str | None) -> HostKey:
    """The host key in a file that only its owner can read; raises SenderKeyError.

    node_sn  of this host; with another host's key every message would be refused
    fabric   of this host; None: not given
    """
    try:
        key = HostKey.parse(read_secret(path).decode().strip())
    except SecretFileError as why:
        raise SenderKeyError(str(why)) from why
    except (SigningError, UnicodeDecodeError) as why:
        text = str(why) if isinstance(why, SigningError) else "not UTF-8"
        raise SenderKeyError(
            f"{path}: {text}; `skeletonhunter keys host` prints what it must hold"
        ) from why
    if key.node_sn != node_sn or fabric not in (None, key.fabric):
        raise SenderKeyError(
            f"{path}: the key of {key.node_sn!r} of fabric {key.fabric!r}, "
            f"not of {node_sn!r} of fabric {(fabric or key.fabric)!r}"
        )
    return key


class Signer:
    """Builds the headers of messages: signed with a host's key, or unsigned without a key."""

    def __init__(self, key: HostKey | None = None, clock_ns: Callable[[], int] = time_ns) -> None:
        self._key, self._clock_ns = key, clock_ns
        self._last_ns = 0
        self._lock = threading.Lock()  # relays sign in threads of their own

    @property
    def signs(self) -> bool:
        """Whether there is a key."""
        return self._key is not None

    def use(self, key: HostKey | None) -> None:
        """Sign with this key from now on; safe in any thread."""
        self._key = key

    def headers(
        self,
        topic: str,
        content_type: str,
        payload: bytes,
        further: Mapping[str, bytes] | None = None,
        partition: int | None = None,
    ) -> dict[str, bytes]:
        """Headers of one message.

        further    added by a relay: its client's identity, or the sender's own signature
        partition  which the message will be produced to, when that is known
        """
        more, key = further or {}, self._key
        if key is None or SIGNATURE in more:
            return {topics.CONTENT_TYPE: content_type.encode(), **more}
        return {
            **more,
            **sign(
                key, topic, content_type, payload, self._now_ns(),
                partition=partition,
                client=more.get(RELAY_CLIENT, b"").decode(),
                tenant=more.get(RELAY_TENANT, b"").decode(),
            ),
        }  # fmt: skip

    def _now_ns(self) -> int:
        """A time that no earlier message has: messages with the same content stay distinct."""
        with self._lock:
            now_ns = self._clock_ns()
            self._last_ns = now_ns if now_ns != self._last_ns else now_ns + 1
            return self._last_ns
