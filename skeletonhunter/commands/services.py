"""``stream``, ``sink``, ``api``, ``controller``: one part each, against Kafka and ClickHouse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from skeletonhunter.settings import Settings

_KAFKA = "SKH_KAFKA=kafka:9092"
_CLICKHOUSE = "SKH_CLICKHOUSE_URL=http://default@clickhouse:8123/default"


def register(app: typer.Typer) -> None:
    """Add ``stream``, ``sink``, ``api`` and ``controller``."""

    @app.command(epilog=f"Example: {_KAFKA} skeletonhunter stream")
    def stream(
        topology: Annotated[
            Path | None, typer.Option(help="The fabric; without it, it is learnt from records.")
        ] = None,
    ) -> int:
        """Judge ping records of Kafka. Start as many workers as the load needs."""
        from skeletonhunter import malloc

        malloc.share_heap()  # before any library begins a thread
        config = _settings("kafka")

        from skeletonhunter.services.stream import serve, stream_config
        from streams import event_loop

        return event_loop.run(serve(config, stream_config(config, topology)))

    @app.command(epilog=f"Example: {_KAFKA} {_CLICKHOUSE} skeletonhunter sink")
    def sink(
        topology: Annotated[
            Path | None,
            typer.Option(help="The fabric, as for stream: who may send for which container."),
        ] = None,
    ) -> int:
        """Store what Kafka holds in ClickHouse.

        Records, windows, anomalies, incidents and dead letters, each in a table of its own.
        """
        config = _settings("kafka", "clickhouse")

        from skeletonhunter.services.sink import serve

        return serve(config, topology)

    @app.command(epilog=f"Example: {_CLICKHOUSE} skeletonhunter api")
    def api(
        port: Annotated[
            int | None, typer.Option(min=0, max=65535, help="Port of the page; 0: any free one.")
        ] = None,
    ) -> int:
        """Serve the page and the HTTP API."""
        config = _settings("clickhouse")

        from skeletonhunter.services.api import serve
        from streams import event_loop

        return event_loop.run(serve(config, config.api_port if port is None else port))

    @app.command(
        epilog=f"Example: {_KAFKA} SKH_CONTROLLER_TOKENS=/etc/skeletonhunter/tokens "
        "skeletonhunter controller"
    )
    def controller(
        port: Annotated[
            int | None, typer.Option(min=0, max=65535, help="Port of the service; 0: any free one.")
        ] = None,
    ) -> int:
        """Decide who probes whom: serve ping lists to agents, take jobs from operators."""
        config = _settings("kafka", signed=False)

        from skeletonhunter.services.controller.command import serve
        from streams import event_loop

        return event_loop.run(serve(config, config.controller_port if port is None else port))


def usable_url(config: Settings) -> None:
    """Raises BadInput for a URL of ClickHouse that no client could use; nothing is asked."""
    from skeletonhunter.errors import BadInput
    from store.client import BadStoreUrl, check_url

    try:
        check_url(config.require_clickhouse())
    except BadStoreUrl as why:
        raise BadInput(f"SKH_CLICKHOUSE_URL: {why}") from why


def _settings(*needs: Literal["kafka", "clickhouse"], signed: bool = True) -> Settings:
    """The settings of a part; where it needs Kafka, the brokers have answered once.

    Raises MissingSettings, BadSettings, and ConnectionError when no broker answers.
    """
    from skeletonhunter import log_lines, settings
    from skeletonhunter.services.broker import check_broker
    from skeletonhunter.services.sender_keys import require_keys

    config = settings.read()
    log_lines.start(config.log_level, config.log_format)
    config.require(*needs)
    if "clickhouse" in needs:
        usable_url(config)
    if "kafka" in needs:
        if signed:  # the part reads what agents send
            require_keys(config, config.require_kafka())
        check_broker(config)
    return config
