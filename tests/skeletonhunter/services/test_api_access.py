"""The settings decide who may use the API: beyond loopback it needs tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.access.callers import Caller
from api.access.rate_limit import Rate
from api.access.tokens import line
from skeletonhunter import settings
from skeletonhunter.errors import BadInput, BadSettings
from skeletonhunter.services.api_access import api_access

FAR = {"SKH_API_HOST": "0.0.0.0"}  # noqa: S104 — refused here


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "skh.example"])  # noqa: S104
def test_beyond_loopback_the_api_does_not_listen_without_tokens(host: str) -> None:
    with pytest.raises(BadSettings, match="SKH_API_TOKENS") as why:
        api_access(settings.read({"SKH_API_HOST": host}))
    assert "\n" not in str(why.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_on_loopback_the_api_needs_no_tokens(host: str) -> None:
    assert api_access(settings.read({"SKH_API_HOST": host})).tokens is None


def test_beyond_loopback_reading_without_tokens_is_a_setting() -> None:
    assert api_access(settings.read({**FAR, "SKH_API_WITHOUT_TOKENS": "read"})).tokens is None


def test_with_tokens_the_api_listens_anywhere(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.touch(mode=0o600)
    file.write_text(line(Caller("alice", "viewer"), "skh_t"))
    tokens = api_access(settings.read({**FAR, "SKH_API_TOKENS": str(file)})).tokens
    assert tokens is not None
    assert tokens().caller("skh_t") == Caller("alice", "viewer")


def test_a_file_of_tokens_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="SKH_API_TOKENS"):
        api_access(settings.read({"SKH_API_TOKENS": str(tmp_path / "none")}))


def test_the_rate_of_a_client_allows_a_burst_and_zero_is_no_limit() -> None:
    assert api_access(settings.read({"SKH_API_RATE": "0"})).rate is None
    assert api_access(settings.read({"SKH_API_RATE": "5"})).rate == Rate(5, 20)
