"""The API as a service: rows of ClickHouse in, page and JSON over HTTP out."""

from __future__ import annotations

import asyncio

from api.serving import Server, listen
from api.serving import config as server_config
from skeletonhunter import terminal
from skeletonhunter.errors import BadInput
from skeletonhunter.services import health
from skeletonhunter.services.api_access import api_access
from skeletonhunter.services.http_app import make_api
from skeletonhunter.services.lifecycle import stop_signals, until_stopped
from skeletonhunter.settings import Settings
from store.client import open_store
from store.read_only import ReadOnlySql


async def serve(config: Settings, port: int) -> int:
    """Serve page and API until stopped; raises BadInput when the address or the tokens
    cannot be used, BadSettings when it would be open by oversight.

    port  0: any free one; any free one too when it is taken
    """
    access = api_access(config)
    store = await asyncio.to_thread(open_store, config.require_clickhouse(), for_reads=True)
    sql_store = None
    if config.api_sql:
        sql_store = await asyncio.to_thread(open_store, config.require_clickhouse(), for_reads=True)
    app = make_api(
        store, host_names=config.api_names, access=access,
        people_sql=None if sql_store is None else ReadOnlySql(sql_store),
    )  # fmt: skip
    try:
        listener, moved = listen(config.api_host, port)
    except OSError as why:
        raise BadInput(f"SKH_API_HOST: {config.api_host}:{port}: {why.strerror}") from why
    if moved and port:
        terminal.announce(f"port {port} is taken; another one was chosen")
    stop = stop_signals()
    server = Server(server_config(app))
    host, bound = listener.getsockname()[:2]
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    terminal.announce(f"page http://{host}:{bound}/ from {store.name}")

    async def ended() -> BaseException | None:
        await asyncio.wait({serving})
        return RuntimeError("the HTTP server stopped by itself")

    try:
        with health.served(config, "api", app.state.monitoring):
            failure = await until_stopped(ended, stop)
            if failure is None and config.api_drain_s:
                second = stop_signals()
                app.state.monitoring.stop()
                terminal.announce(f"stopping, answers for {config.api_drain_s:g} s more")
                failure = await until_stopped(ended, second, config.api_drain_s)
    finally:
        server.should_exit = True
        await serving
        store.close()
        if sql_store is not None:
            sql_store.close()
    if failure is not None:
        raise failure
    return 0
