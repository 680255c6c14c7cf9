"""One HTTP request on a connection of its own, as agents make them, for thousands at once."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import msgspec


class Answer(NamedTuple):
    """etag: quoted, as sent."""

    status: int
    etag: str
    body: bytes


async def ask(
    port: int, method: str, path: str, token: str, body: Any = None, etag: str = ""
) -> Answer:
    """Ask a server on loopback."""
    content = b"" if body is None else msgspec.json.encode(body)
    head = [
        f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close",
        f"Authorization: Bearer {token}", f"Content-Length: {len(content)}",
    ]  # fmt: skip
    head += ["Content-Type: application/json"] if content else []
    head += [f"If-None-Match: {etag}"] if etag else []
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write("\r\n".join([*head, "", ""]).encode() + content)
        await writer.drain()
        top, _, rest = (await reader.read(-1)).partition(b"\r\n\r\n")
    finally:
        writer.close()
    lines = top.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return Answer(int(lines[0].split()[1]), headers.get("etag", ""), rest)
