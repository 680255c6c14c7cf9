"""Recognizes variables that Kubernetes sets in every pod for each Service of its namespace.

For a Service ``skh-api`` they begin with SKH_API_, as our settings do: SKH_API_PORT is then
``tcp://10.0.0.1:80``. Name and value must both match, so that a misspelt setting is not mistaken
for one. Source: Kubernetes documentation, "Discovering services: environment variables".
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Final

_URL: Final = re.compile(r"(?:tcp|udp|sctp)://(?:\[[0-9A-Fa-f:.]+\]|[^\s/@]+):\d{1,5}")
_PORT: Final = re.compile(r"\d{1,5}")
_PROTOCOL: Final = re.compile(r"tcp|udp|sctp")


def injected(name: str, value: str) -> bool:
    """Whether name and value are those of a variable set for a Service."""
    return any(
        pattern.fullmatch(name) is not None and accepts(value) for pattern, accepts in _SHAPES
    )


def _address(value: str) -> bool:
    try:
        ipaddress.ip_address(value.strip("[]"))
    except ValueError:
        return False
    return True


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: pattern.fullmatch(value) is not None


_PREFIX: Final = r"SKH(?:_[A-Z0-9_]+)?"
_ONE: Final = rf"{_PREFIX}_PORT_\d{{1,5}}_(?:TCP|UDP|SCTP)"
_SHAPES: Final = tuple(
    (re.compile(pattern), accepts)
    for pattern, accepts in (
        (rf"{_PREFIX}_SERVICE_HOST", _address),
        (rf"{_PREFIX}_SERVICE_PORT(?:_[A-Z0-9_]+)?", _matches(_PORT)),
        (rf"{_PREFIX}_PORT", _matches(_URL)),
        (_ONE, _matches(_URL)),
        (rf"{_ONE}_PROTO", _matches(_PROTOCOL)),
        (rf"{_ONE}_PORT", _matches(_PORT)),
        (rf"{_ONE}_ADDR", _address),
    )
)
