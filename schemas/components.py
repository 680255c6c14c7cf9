"""Component ids: ``kind:name``, and ``link:<a>|<b>`` with a < b, unique within a fabric."""

from __future__ import annotations

from typing import Final

#: ``pod`` and ``fabric`` are blamed only when all or most of their hosts fall silent at once.
KINDS: Final = ("host", "rnic", "vswitch", "container", "tor", "agg", "spine", "agent", "link",
                "pod", "fabric")  # fmt: skip
TIER_KIND: Final = {"asw": "tor", "psw": "agg", "dsw": "spine"}


def component(kind: str, name: str) -> str:
    """``kind:name``; a name must not be empty nor hold ``|``, which separates a link's ends."""
    if kind not in KINDS or not name or "|" in name:
        raise ValueError(
            f"no component id from kind {kind!r} and name {name!r}: "
            f"kind is one of {', '.join(KINDS)}, and a name has no '|'"
        )
    return f"{kind}:{name}"


def link(a: str, b: str) -> str:
    """The undirected link between two components, ends in string order."""
    first, second = sorted((a, b))
    return f"link:{first}|{second}"


def kind_of(component_id: str) -> str:
    """Everything before the first colon."""
    return component_id.partition(":")[0]


def device(component_id: str) -> str:
    """The same for all ids of one device, whatever tier its switches were once taken to be of.

    Names of switches are unique in a fabric, so that ``agg:x`` and ``spine:x`` are one switch.
    """
    if component_id.startswith("link:"):
        return link(*(device(end) for end in link_ends(component_id)))
    kind, _, name = component_id.partition(":")
    return f"switch:{name}" if kind in TIER_KIND.values() else component_id


def link_ends(component_id: str) -> tuple[str, str]:
    """The two ends of a link id."""
    a, bar, b = component_id.removeprefix("link:").partition("|")
    if not component_id.startswith("link:") or not bar:
        raise ValueError(f"{component_id!r} is not a link id")
    return a, b
