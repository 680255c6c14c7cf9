"""What a configuration file may hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from schemas.component_ids import KINDS
from schemas.documents.incident import Severity

SECRET_FORMS: Final = ("env:", "file:")


def is_reference(text: str) -> bool:
    """Whether a text names where a value is, and is not the value."""
    return text.startswith(SECRET_FORMS)


def check_url(text: str, *, allow_http: bool) -> None:
    """Raises ValueError for what is no URL that may be asked; the message does not show it."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("is not a URL") from None
    if parts.scheme not in (("https", "http") if allow_http else ("https",)):
        also = "" if allow_http or parts.scheme != "http" else " (`allow_http: true` permits http)"
        raise ValueError(f"must begin with https://{also}")
    if not host:
        raise ValueError("names no host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold a password")


def _secret(text: str) -> str:
    if not is_reference(text) or not text.partition(":")[2]:
        raise ValueError("is a secret: write env:NAME or file:PATH, not the value itself")
    return text


def _kind(text: str) -> str:
    if text not in KINDS:
        raise ValueError(f"is not one of {', '.join(KINDS)}")
    return text


def _page(text: str) -> str:
    if text:
        check_url(text, allow_http=True)
    return text


Secret = Annotated[str, AfterValidator(_secret)]
Names = tuple[Annotated[str, Field(min_length=1, max_length=200)], ...]
ChannelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]


class Model(BaseModel):
    """No unknown names, no changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Target(Model):
    """An address that is asked over HTTP, and what is permitted there.

    url            https://..., or env:NAME or file:PATH where it is
    allow_http     permits http://, which anybody on the way can read and change
    allow_private  permits private and loopback addresses
    ca_file        certificates to trust instead of the system's
    proxy          http://host:port through which requests go; the proxy then resolves names
    timeout_s      of a request, its answer included [s]
    """

    url: str
    allow_http: bool = False
    allow_private: bool = False
    ca_file: Path | None = None
    proxy: str | None = None
    timeout_s: float = Field(default=10.0, ge=0.1, le=60)

    @model_validator(mode="after")
    def _urls(self) -> Target:
        if not is_reference(self.url):
            check_url(self.url, allow_http=self.allow_http)
        if self.proxy is not None and not is_reference(self.proxy):
            check_url(self.proxy, allow_http=True)
        return self


class Delivery(Target):
    """A channel: a target, and how long it is tried.

    give_up_s  a notification that could not be delivered for so long is dropped [s]
    queue      notifications that may wait; more are dropped [count]
    """

    give_up_s: float = Field(default=3600.0, ge=1, le=7 * 24 * 3600)
    queue: int = Field(default=1000, ge=1, le=100_000)


class Slack(Delivery):
    """An incoming webhook; its address is the secret."""

    kind: Literal["slack"]
    url: Secret


class PagerDuty(Delivery):
    """An integration of Events API v2."""

    kind: Literal["pagerduty"]
    routing_key: Secret
    url: str = "https://events.pagerduty.com/v2/enqueue"


class Alertmanager(Delivery):
    """An Alertmanager; the address without /api/v2/alerts."""

    kind: Literal["alertmanager"]


class Webhook(Delivery):
    """Any program that takes the JSON document; signed where there is a secret."""

    kind: Literal["webhook"]
    secret: Secret | None = None


Channel = Annotated[Slack | PagerDuty | Alertmanager | Webhook, Field(discriminator="kind")]


class RouteModel(Model):
    """See ``decisions.routes.Route``."""

    to: Annotated[Names, Field(min_length=1)]
    severity: tuple[Severity, ...] = ()
    fabric: Names = ()
    kind: tuple[Annotated[str, AfterValidator(_kind)], ...] = ()
    job: Names = ()
    tenant: Names = ()
    min_confidence: float = Field(default=0.0, ge=0, le=1)


class Storm(Model):
    """See ``decisions.storms.StormLimits``."""

    most: int = Field(default=10, ge=1, le=1000)
    window_s: float = Field(default=30.0, gt=0, le=3600)


class Watchdog(Target):
    """A dead man's switch that is asked while judging goes on.

    every_s   time between two requests [s]
    behind_s  judging goes on while the newest judged second is at most so old [s]
    fabrics   that must all be judged; empty: any one
    """

    every_s: float = Field(default=60.0, ge=1, le=3600)
    behind_s: float = Field(default=300.0, ge=70, le=24 * 3600)
    fabrics: Names = ()


class Configuration(Model):
    """The whole file."""

    channels: dict[ChannelName, Channel] = Field(min_length=1)
    routes: tuple[RouteModel, ...] = Field(min_length=1)
    page_url: Annotated[str, AfterValidator(_page)] = ""
    storm: Storm = Storm()
    watchdog: Watchdog | None = None


def known_names(path: tuple[Any, ...]) -> list[str]:
    """The names that may be at a place of the file, for a hint about a typing error."""
    models: dict[str, type[Model]] = {
        "slack": Slack, "pagerduty": PagerDuty, "alertmanager": Alertmanager, "webhook": Webhook,
        "routes": RouteModel, "storm": Storm, "watchdog": Watchdog,
    }  # fmt: skip
    for part in reversed(path):
        if part in models:
            return sorted(models[part].model_fields)
    return sorted(Configuration.model_fields)
