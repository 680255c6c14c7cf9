"""Component ids: ``kind:name``, and ``link:<a>|<b>`` with a < b, unique within a fabric.

Names come from records that any sender may write, so any text may be a name: characters that would
make an id ambiguous are escaped as in a URL (``escaped``); other names are not changed.
"""

from __future__ import annotations

from typing import Final

#: ``pod`` and ``fabric`` are culprits only of outages of all or most of their hosts at once;
#: ``pipeline`` is SkeletonHunter itself as it localizes one fabric, and no part of the network.
KINDS: Final = ("host", "rnic", "vswitch", "container", "tor", "agg", "spine", "agent", "link",
                "pod", "fabric", "pipeline")  # fmt: skip
TIER_KIND: Final = {"asw": "tor", "psw": "agg", "dsw": "spine"}
#: Name of a switch that no record, route or document has named: ``spine:?``, ``link:?|tor:x``.
UNSEEN: Final = "?"


_EMPTY: Final = "%00"
_AMBIGUOUS: Final = ("|", "%7C", "%25", _EMPTY)


def escaped(name: str) -> str:
    """A name as it appears in an id; different names remain different.

    ``|``, which separates the ends of a link, becomes ``%7C``, and an empty name becomes ``%00``. A
    ``%`` becomes ``%25`` only in a name that could be mistaken for an escaped one.
    """
    if not name:
        return _EMPTY
    if not any(each in name for each in _AMBIGUOUS):
        return name
    return name.replace("%", "%25").replace("|", "%7C")


def component(kind: str, name: str) -> str:
    """``kind:name``; raises ValueError for a kind that is not in KINDS."""
    if kind not in KINDS:
        raise ValueError(f"no component id of kind {kind!r}; kind is one of {', '.join(KINDS)}")
    return f"{kind}:{escaped(name)}"


def link(a: str, b: str) -> str:
    """The undirected link between two components, ends in string order."""
    first, second = sorted((a, b))
    return f"link:{first}|{second}"


def kind_of(component_id: str) -> str:
    """The part of an id before the first colon."""
    return component_id.partition(":")[0]


def name_of(component_id: str) -> str:
    """The name in an id that is no link's, as records have it (see ``escaped``)."""
    name = component_id.partition(":")[2]
    return "" if name == _EMPTY else name.replace("%7C", "|").replace("%25", "%")


def device(component_id: str) -> str:
    """An id without the switch tier: equal for all ids of one device, whatever tier was assumed.

    Names of switches are unique in a fabric, so ``agg:x`` and ``spine:x`` are one switch.
    """
    if component_id.startswith("link:"):
        return link(*(device(end) for end in link_ends(component_id)))
    kind, _, name = component_id.partition(":")
    return f"switch:{name}" if kind in TIER_KIND.values() else component_id


def link_ends(component_id: str) -> tuple[str, str]:
    """The two ends of a link id; raises ValueError for any other id."""
    a, bar, b = component_id.removeprefix("link:").partition("|")
    if not component_id.startswith("link:") or not bar:
        raise ValueError(f"{component_id!r} is not a link id")
    return a, b
