"""Clients come and go on the stream of incidents; what a server holds must return to the start.

    python scripts/stream_soak.py                    # an hour
    python scripts/stream_soak.py --reconnects 300   # about a minute, as the tests do

The server runs in a process of its own, over a store of the newest minute. Each client reads for a
while, leaves, and returns with the Last-Event-ID that it has. Prints one line of JSON; exit code 1
when events were missed, or when streams, file descriptors or memory do not return.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import httpx

from api.app import create_app
from api.serving import ThreadServer, listen

#: Resident memory may grow so much between half of the time and the end [MB].
MOST_MB: Final = 12.0
#: New versions of incidents a second, and what each weighs [bytes].
RATE: Final = 40
_DOCUMENT: Final = 2000
_KEPT_S: Final = 60
CLIENTS: Final = 16
_RETURN_S: Final = 60.0
#: A client that is told to come again, because the store did not answer in time, waits so long [s].
_AGAIN_S: Final = 1.0
#: A client reads for so long at least and at most [s].
_READS_S: Final = (0.3, 3.0)


class NewestMinute:
    """A store of the incidents of the newest minute; they are numbered."""

    def __init__(self) -> None:
        self._rows: deque[dict[str, Any]] = deque(maxlen=RATE * _KEPT_S)
        threading.Thread(target=self._write, daemon=True).start()

    def _write(self) -> None:
        began, number = time.monotonic(), 0
        while True:
            while number < RATE * (time.monotonic() - began):
                document = json.dumps({"number": number, "text": "x" * _DOCUMENT})
                self._rows.append({
                    "incident_id": f"{number:012}", "version": 1, "stored_s": int(time.time()),
                    "document": document,
                })  # fmt: skip
                number += 1
            time.sleep(0.05)

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Those that the feed asks for; of others it knows nothing."""
        if "now_s" in sql:
            return [{"now_s": int(time.time())}]
        if parameters is None or "stored_s" not in parameters:
            raise ConnectionError("only incidents are here")
        after = parameters["stored_s"], parameters["id"], parameters["version"]
        found = [
            row
            for row in list(self._rows)
            if (row["stored_s"], row["incident_id"], row["version"]) > after
        ]
        return found[: parameters["page"]]


class Client:
    """Comes and goes. missed: numbers that it never got; events: that it got; refused: visits to a
    server that was too busy, after which it comes again with the id that it has.
    """

    def __init__(self, url: str, number: int) -> None:
        self._url, self._number = url, number
        self._last_id: str | None = None
        self._highest: int | None = None
        self.visits = self.events = self.missed = self.refused = 0

    async def run(self, http: httpx.AsyncClient, enough: asyncio.Event) -> None:
        """Visit until ``enough`` is set."""
        while not enough.is_set():
            await self.visit(http)

    async def visit(self, http: httpx.AsyncClient) -> None:
        """Connect, read for a while, and leave in the middle of whatever comes."""
        shortest, longest = _READS_S
        self.visits += 1
        length_s = shortest + (longest - shortest) * ((7 * self.visits + self._number) % 10) / 10
        headers = {} if self._last_id is None else {"Last-Event-ID": self._last_id}
        until = time.monotonic() + length_s
        async with http.stream("GET", f"{self._url}api/v1/stream", headers=headers) as response:
            if response.status_code == 503:
                self.refused += 1
                await asyncio.sleep(_AGAIN_S)
                return
            response.raise_for_status()
            async for line in response.aiter_lines():
                self._read(line)
                if time.monotonic() > until:
                    return

    def _read(self, line: str) -> None:
        name, _, value = line.partition(": ")
        if name == "id":
            self._last_id = value
        elif name == "data":
            number = int(json.loads(value)["number"])
            self.events += 1
            if self._highest is not None and number > self._highest + 1:
                self.missed += number - self._highest - 1
            self._highest = max(number, self._highest or 0)


class Server:
    """The process that serves, and what it holds."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603  # this file
            [sys.executable, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None  # noqa: S101  # as asked for
        self.url = self.process.stdout.readline().strip()

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()

    def megabytes(self) -> float:
        """Resident memory [MB]."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]  # always

    def descriptors(self) -> int:
        """Open file descriptors."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def streams(self) -> int:
        """Open streams, as it says itself."""
        text = httpx.get(f"{self.url}metrics", timeout=60).raise_for_status().text
        return int(float(re.search(r"^skh_api_streams (\S+)$", text, re.MULTILINE)[1]))  # type: ignore[index]  # always

    async def settled(self, descriptors: int) -> tuple[int, int]:
        """Open streams and descriptors, once none and no more than before are open, or after a
        while."""
        until = time.monotonic() + _RETURN_S
        while True:
            streams = await asyncio.to_thread(self.streams)
            await asyncio.sleep(0.2)  # for the connection of that question to end
            now = self.descriptors()
            if (not streams and now <= descriptors) or time.monotonic() > until:
                return streams, now


async def soak(server: Server, reconnects: int, seconds: float) -> dict[str, Any]:
    """What was counted until so many reconnects were made, or so long has passed."""
    _, began_with = await server.settled(2**16)
    clients = [Client(server.url, number) for number in range(CLIENTS)]
    enough = asyncio.Event()
    began, half_mb, most_streams = time.monotonic(), None, 0
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(timeout=120, limits=limits) as http, asyncio.TaskGroup() as tasks:
        for client in clients:
            tasks.create_task(client.run(http, enough))
        while not enough.is_set():
            await asyncio.sleep(0.2)
            visits, passed = sum(each.visits for each in clients), time.monotonic() - began
            done = visits / reconnects if reconnects else passed / seconds
            if done >= 0.5 and half_mb is None:
                half_mb = server.megabytes()
                most_streams = await asyncio.to_thread(server.streams)
            if done >= 1:
                enough.set()
    end_mb = server.megabytes()
    streams, descriptors = await server.settled(began_with)
    return {
        "seconds": round(time.monotonic() - began, 1),
        "reconnects": sum(each.visits for each in clients) - CLIENTS,
        "events": sum(each.events for each in clients),
        "missed": sum(each.missed for each in clients),
        "refused": sum(each.refused for each in clients),
        "streams_meanwhile": most_streams, "streams_after": streams,
        "descriptors_before": began_with, "descriptors_after": descriptors,
        "half_mb": round(half_mb or 0.0, 1), "end_mb": round(end_mb, 1),
    }  # fmt: skip


def wrong(found: Mapping[str, Any]) -> list[str]:
    """What did not return, in words."""
    checks = {
        f"{found['missed']} events were missed": found["missed"] > 0,
        f"{found['streams_after']} streams are still open": found["streams_after"] > 0,
        "file descriptors are still open": found["descriptors_after"] > found["descriptors_before"],
        f"memory grew by more than {MOST_MB:g} MB": found["end_mb"] - found["half_mb"] > MOST_MB,
    }
    return [text for text, bad in checks.items() if bad]


def serve() -> None:
    """The server's process."""
    listener, _ = listen("127.0.0.1", 0)
    server = ThreadServer(create_app(NewestMinute()), listener)
    server.start()
    print(server.url, flush=True)
    sys.stdin.read()  # until the process that asks has gone


def main() -> int:
    """Soaks and prints; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--reconnects", type=int, default=0, help="end after so many instead")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return 0
    server = Server()
    try:
        found = asyncio.run(soak(server, given.reconnects, given.seconds))
    finally:
        server.stop()
    print(json.dumps(found))
    problems = wrong(found)
    for text in problems:
        print(text, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
