"""ClickHouse's engine (chDB) behind ClickHouse's HTTP interface, with faults on demand.

    python -m testbed.services.store_server chdb:DIRECTORY PORT

Serves what the sink and ``migrate`` ask: queries and ``INSERT ... FORMAT Arrow``. ``POST /fault``
with a JSON object sets the faults of ``Faults``, the absent ones to their defaults.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec
import pyarrow as pa

from store.client import Store, StoreError, StoreUnavailable, open_store

_FORMAT: Final = re.compile(r"\s+FORMAT\s+(\w+)\s*$", re.IGNORECASE)
_INSERT: Final = re.compile(r"INSERT\s+INTO\s+`?(\w+)`?", re.IGNORECASE)
_PARAMETER: Final = "param_"
_ARRAY: Final = re.compile(r"\{(\w+)\s*:\s*Array\(")
_ESCAPED: Final = re.compile(r"\\(.)")
#: Of ClickHouse's error codes: TABLE_IS_READ_ONLY; NOT_ENOUGH_SPACE, for what the engine's own
#: files cannot hold; SYNTAX_ERROR, for refusals without a code.
_READ_ONLY: Final = 242
_FULL: Final = 243
_REFUSED: Final = 62


class Faults(msgspec.Struct, forbid_unknown_fields=True):
    """How inserts fail.

    slow_s     an insert waits so long before it begins [s]
    read_only  inserts are refused as a read-only replica refuses them
    code       inserts are refused with this one of ClickHouse's error codes and this text; 0: not
    die_after  the process ends after so many further inserts, each stored but the last not
               answered; 0: never [count]
    """

    slow_s: float = 0.0
    read_only: bool = False
    code: int = 0
    text: str = ""
    die_after: int = 0


def bound(sql: str, texts: Mapping[str, str]) -> dict[str, str | list[Any]]:
    """The values of a statement's parameters, which HTTP carries as escaped texts; an array's text
    is a literal."""
    arrays = set(_ARRAY.findall(sql))
    return {
        name: ast.literal_eval(text) if name in arrays else _ESCAPED.sub(r"\1", text)
        for name, text in texts.items()
    }


class Served:
    """A store, one statement at a time, and its faults."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self.faults = Faults()

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> bytes:
        """Result of a query, in the format that it names."""
        found = _FORMAT.search(sql)
        with self._lock:
            return self._store.raw(
                _FORMAT.sub("", sql), parameters, found[1] if found else "TabSeparated"
            )

    def insert(self, table: str, body: bytes) -> None:
        """Store the rows of an Arrow file; may end the process."""
        time.sleep(self.faults.slow_s)
        with self._lock:
            self._store.insert(table, pa.ipc.open_file(pa.py_buffer(body)).read_all())
            self.faults.die_after -= 1
            if self.faults.die_after == 0:
                os._exit(1)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    served: Served

    def do_GET(self) -> None:
        self._answer(200, b"Ok.\n")

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        body = self._body()
        if url.path == "/fault":
            self.served.faults = msgspec.json.decode(body, type=Faults)
            self._answer(200, b"")
            return
        options = {name: values[0] for name, values in parse_qs(url.query).items()}
        sql = options.get("query", "")
        parameters = {
            name.removeprefix(_PARAMETER): value
            for name, value in options.items()
            if name.startswith(_PARAMETER)
        }
        insert, faults = _INSERT.match(sql), self.served.faults
        try:
            if insert is None:
                sql = sql or body.decode()
                self._answer(200, self.served.query(sql, bound(sql, parameters)))
            elif faults.read_only:
                self._answer(500, b"Code: 242. Table is in readonly mode", _READ_ONLY)
            elif faults.code:
                self._answer(500, f"Code: {faults.code}. {faults.text}".encode(), faults.code)
            else:
                self.served.insert(insert[1], body)
                self._answer(200, b"")
        except (StoreError, pa.ArrowInvalid) as why:
            self._answer(500, str(why).encode(), _code(why))

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, status: int, body: bytes, code: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-ClickHouse-Summary", json.dumps({}))
        if code:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """The standard log is of no use here."""


def _code(why: Exception) -> int:
    """ClickHouse's code of an error, as a server would answer."""
    code = getattr(why.__cause__, "code", None)
    if isinstance(code, int):
        return code
    return _FULL if isinstance(why, StoreUnavailable) else _REFUSED


def main(url: str, port: int) -> None:
    """Serve until the process is ended."""
    Handler.served = Served(open_store(url))
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
