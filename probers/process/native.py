"""The compiled helper (``native/``), where it is installed; else the agent does the same in Python.

It serves UDP sockets over IPv4 with a fifth of the CPU time. ``SKH_NATIVE=off`` leaves it out.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Final

VARIABLE: Final = "SKH_NATIVE"
#: What the helper must offer; see INTERFACE in native/src/module.c.
INTERFACE: Final = 4

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
    """Why the helper is not used by loops that are made now; "": it is."""
    if os.environ.get(VARIABLE, "").lower() in ("off", "0", "no"):
        return f"{VARIABLE}={os.environ[VARIABLE]}"
    return _missing if module is None else ""
