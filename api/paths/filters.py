"""Parameters of questions about paths and components, bounded in time and rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from api.paths.documents import Health
from api.queries.patterns import PRINTABLE
from api.queries.times import FIRST, Time

#: Kinds of components at which paths start and end, or that have all paths of some.
EndpointKind = Literal["tor", "rnic", "host", "pod", "container"]
Order = Literal["loss", "rtt", "id"]
_Name = Annotated[str, Field(min_length=1, max_length=500, pattern=PRINTABLE)]


class Span(BaseModel):
    """A time of windows or pings; both ends are set once it is read."""

    model_config = ConfigDict(extra="forbid")

    default_s: ClassVar[int] = 900
    longest_s: ClassVar[int] = 6 * 3600

    since: Time | None = Field(
        None, description="Begin of the time: RFC 3339 with zone, or -15m, -6h"
    )
    until: Time | None = Field(None, description="Its end, in the same forms; now without it")

    @model_validator(mode="after")
    def _is_bounded(self) -> Span:
        until = self.until or datetime.now(UTC)
        since = self.since or max(FIRST, until - timedelta(seconds=self.default_s))
        length_s = (until - since).total_seconds()
        if length_s <= 0:
            raise ValueError("since must be before until")
        if length_s > self.longest_s:
            raise ValueError(f"since and until are at most {self.longest_s // 3600} h apart")
        self.since, self.until = since, until
        return self

    def bounds_s(self) -> dict[str, int]:
        """Parameters since and until [s since the epoch]."""
        assert self.since is not None  # noqa: S101 — set by the validator
        assert self.until is not None  # noqa: S101 — as above
        return {"since": int(self.since.timestamp()), "until": -int(-self.until.timestamp() // 1)}


class PathFilters(Span):
    """Which paths; all given conditions must hold."""

    fabric: list[_Name] = Field([], max_length=50)
    layer: Literal["overlay", "underlay"] | None = None
    src: list[_Name] = Field(
        [], max_length=50, description="Host, rnic, container, ToR or pod where they start"
    )
    dst: list[_Name] = Field([], max_length=50, description="The same where they end")
    at: list[_Name] = Field([], max_length=50, description="The same at either end")
    incident: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        None, description="Only paths that were anomalous in this incident"
    )
    lossy: bool = Field(False, description="Only paths that lost a probe")
    order: Order = Field("loss", description="loss, rtt: the worst first; id: by path_id")
    limit: int = Field(100, ge=1, le=500)

    def where(self) -> tuple[str, dict[str, Any]]:
        """Condition over path_windows_latest, and its parameters."""
        conditions = ["1"]
        given = {
            name: value
            for name in ("fabric", "layer", "src", "dst", "at", "incident")
            if (value := getattr(self, name))
        }
        conditions += [_CONDITIONS[name] for name in given]
        return " AND ".join(conditions), given


class WindowFilters(Span):
    """Which windows of a path."""

    step: Literal["5", "30"] = Field(
        "30", description="30: each probe in one window; 5: a window of 30 s each 5 s"
    )


class PingFilters(Span):
    """Which ping records of a path."""

    longest_s: ClassVar[int] = 24 * 3600

    limit: int = Field(200, ge=1, le=1000)


class ComponentFilters(Span):
    """Which components, and the time of their probes."""

    default_s: ClassVar[int] = 300
    longest_s: ClassVar[int] = 3600

    kind: EndpointKind = "tor"
    fabric: list[_Name] = Field([], max_length=50)
    health: list[Health] = Field([], max_length=4)
    text: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="Part of the name, in any case"
    )
    limit: int = Field(100, ge=1, le=1000)
    offset: int = Field(0, ge=0, le=100_000)


class ComponentQuestion(Span):
    """Of which fabric a component is, and the time of its probes."""

    default_s: ClassVar[int] = 300
    longest_s: ClassVar[int] = 3600

    fabric: _Name | None = Field(None, description="Needed where several fabrics have the name")


def _side(side: str, name: str) -> str:
    return " OR ".join(
        f"{side}_{column} IN {{{name}:Array(String)}}"
        for column in ("node_sn", "real_ip", "node_id", "asw", "pod")
    )


_CONDITIONS = {
    "fabric": "fabric IN {fabric:Array(String)}",
    "layer": "layer = {layer:String}",
    "src": f"({_side('src', 'src')})",
    "dst": f"({_side('dst', 'dst')})",
    "at": f"({_side('src', 'at')} OR {_side('dst', 'at')})",
    "incident": "path_id IN (SELECT path_id FROM anomalies_unique"
    " WHERE incident_id = {incident:String})",
}
