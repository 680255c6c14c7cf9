"""The command ``skeletonhunter``, and its Python API; the only package that may import all others.

In: arguments and SKH_* variables (``settings``). Out: text, an exit code, or services that run.
Everything below gets values as arguments and reads neither settings nor environment. Start with
``cli``: it finds the commands (``commands/``), which run ``diagnosis``, ``services``, ``embedded``.

For pandas users: ``diagnose``, ``read_pings`` and ``connect``, see docs/python.md. They are loaded
when they are first used, so that ``import skeletonhunter`` loads nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from skeletonhunter.frames.analysis import diagnose
    from skeletonhunter.frames.connection import Connection, connect
    from skeletonhunter.frames.incidents import Incidents
    from skeletonhunter.frames.records import read_pings

__all__ = ["Connection", "Incidents", "connect", "diagnose", "read_pings"]
_MODULES: Final = {
    "diagnose": "analysis", "connect": "connection", "Connection": "connection",
    "Incidents": "incidents", "read_pings": "records",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.frames.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
