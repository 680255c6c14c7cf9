"""The compiled helper (``native/``), where it is installed; else all it does is done in Python.

It serves the agent's UDP sockets over IPv4, encodes records, and joins and looks up the columns of
many records, with a fraction of the CPU time. ``SKH_NATIVE=off`` leaves it out.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Final

VARIABLE: Final = "SKH_NATIVE"
#: What the helper must offer; see INTERFACE in native/src/module.c.
INTERFACE: Final = 11

module: ModuleType | None = None
try:
    import skeletonhunter_native as _found
except ImportError as _why:
    _missing = "not installed" if isinstance(_why, ModuleNotFoundError) else f"{_why}"
else:
    _offers = getattr(_found, "INTERFACE", 0)
    _missing = f"its interface is {_offers}, this release needs {INTERFACE}"
    if _offers == INTERFACE:
        module = _found


def why_not() -> str:
    """Why the helper is not used from now on; "": it is."""
    if os.environ.get(VARIABLE, "").lower() in ("off", "0", "no"):
        return f"{VARIABLE}={os.environ[VARIABLE]}"
    return _missing if module is None else ""


def used() -> ModuleType | None:
    """The helper; None where it is not to be used from now on."""
    return None if why_not() else module
