"""The port on which a part serves /healthz, /readyz and /metrics."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import httpx
import pytest

from api.monitoring import Monitoring
from skeletonhunter.errors import BadInput
from skeletonhunter.services.health import PORTS, served
from skeletonhunter.settings import Settings


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def test_each_part_has_a_default_port_of_its_own() -> None:
    ports = [*PORTS.values(), Settings().api_port]
    assert len(set(ports)) == len(ports)
    assert Settings().health_host == "127.0.0.1"


def test_the_health_pages_answer_until_the_part_ends(capsys: pytest.CaptureFixture[str]) -> None:
    with served(Settings(health_port=0), "stream", Monitoring()) as url:
        assert url is not None
        assert capsys.readouterr().out == f"health and metrics {url}\n"
        for path in ("healthz", "readyz", "metrics"):
            assert httpx.get(f"{url}{path}", timeout=60).status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}healthz", timeout=60)


def test_a_default_port_that_is_taken_is_replaced(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """So that many workers fit on a host."""
    port = PORTS["stream"]
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a worker that runs here has it, which serves as well
            stack.enter_context(socket.create_server(("127.0.0.1", port)))
        url = stack.enter_context(served(Settings(), "stream", Monitoring()))
        assert url is not None
        assert f":{port}/" not in url
        assert f"(port {port} is taken)" in capsys.readouterr().out
        assert httpx.get(f"{url}healthz", timeout=60).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.1"])
def test_a_health_port_that_is_set_must_be_free(taken: int, host: str) -> None:
    """A probe asks that port, and never another one."""
    config = Settings(health_port=taken, health_host=host)
    with (
        pytest.raises(BadInput, match=rf"SKH_HEALTH_PORT: {host}:{taken}: \S") as why,
        served(config, "stream", Monitoring()),
    ):
        pass
    assert why.value.code == 2


def test_the_health_port_can_be_off(capsys: pytest.CaptureFixture[str]) -> None:
    with served(Settings(health_port=-1), "sink", Monitoring()) as url:
        assert url is None
    assert capsys.readouterr().out == ""
