"""The settings of who may use the API, checked before it listens."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from api.access.rate_limit import Rate
from api.access.tokens import TokenError, TokenFile, Tokens
from skeletonhunter.errors import BadInput, BadSettings

if TYPE_CHECKING:
    from skeletonhunter.settings import Settings

#: Seconds of the rate that a client may use up at once.
_BURST_S = 4


class ApiAccess(NamedTuple):
    """tokens  None: anyone who reaches the port reads, and acts from this machine only
    rate    of one client; None: any
    """

    tokens: Callable[[], Tokens] | None = None
    rate: Rate | None = None


def api_access(config: Settings) -> ApiAccess:
    """Raises BadInput for a file of tokens that cannot be used, and BadSettings where the API would
    be open to a network by oversight.
    """
    rate = None
    if config.api_rate:
        rate = Rate(config.api_rate, max(1, round(_BURST_S * config.api_rate)))
    if config.api_tokens is not None:
        try:
            return ApiAccess(TokenFile(config.api_tokens), rate)
        except TokenError as why:
            raise BadInput(f"SKH_API_TOKENS: {why}") from why
    if config.api_without_tokens == "loopback" and not _is_loopback(config.api_host):
        raise BadSettings(
            f"SKH_API_HOST is {config.api_host}, and anyone who reaches it could read all "
            "incidents; set SKH_API_TOKENS (`skeletonhunter keys api-token`), or "
            "SKH_API_WITHOUT_TOKENS=read where something else guards it"
        )
    return ApiAccess(None, rate)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
