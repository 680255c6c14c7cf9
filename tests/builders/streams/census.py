"""How many entries an object holds, by where they are: what grows shows by its name."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa
from scipy import sparse

_OURS: Final = ("localizer", "streams", "schemas", "store", "controller", "notifier", "api")
_ATOMS: Final = (str, bytes, int, float, complex, type(None), type)
_LISTS: Final = (list, tuple, set, frozenset, deque)


def census(*roots: object) -> Counter[str]:
    """Entries of every dict, list, set, array and table that can be reached, by attribute.

    All values of a dict and all elements of a list are one place: ``Ingest._partitions{}._inbox``.
    An object counts where it is met first.
    """
    found: Counter[str] = Counter()
    seen: dict[int, object] = {}  # the objects too: an id may be given again
    waiting: deque[tuple[str, object]] = deque((type(each).__name__, each) for each in roots)
    while waiting:
        place, each = waiting.popleft()
        if isinstance(each, _ATOMS) or id(each) in seen:
            continue
        seen[id(each)] = each
        if isinstance(each, np.ndarray | pa.Array | pa.RecordBatch):
            found[place] += each.size if isinstance(each, np.ndarray) else len(each)
        elif sparse.issparse(each):
            found[place] += each.nnz
        elif isinstance(each, dict | MappingProxyType):
            found[place] += len(each)
            waiting += [(place + "{}", value) for value in each.values()]
        elif isinstance(each, _LISTS) and not hasattr(each, "_fields"):
            found[place] += len(each)
            waiting += [(place + "[]", value) for value in each]
        elif type(each).__module__.partition(".")[0] in _OURS:
            waiting += [(f"{place}.{name}", value) for name, value in _attributes(each)]
        elif hasattr(each, "__len__"):  # of the compiled helper
            found[place] += len(each)
    return found


def _attributes(of: Any) -> Iterator[tuple[str, object]]:
    names = dict.fromkeys(getattr(of, "__dict__", ()))
    for kind in type(of).__mro__:
        for field in ("__slots__", "__struct_fields__", "_fields"):
            slots = vars(kind).get(field, ())
            if isinstance(slots, str | tuple):  # a base class of C has a descriptor there
                names |= dict.fromkeys((slots,) if isinstance(slots, str) else slots)
    for name in names:
        if hasattr(of, name):
            yield name, getattr(of, name)
