"""An API server on loopback with fixed answers, for the official client."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit


class Cluster:
    """What an API server on loopback answers; ``asked`` are the queries."""

    def __init__(self) -> None:
        self.pages: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.status = 200
        self.asked: list[tuple[str, dict[str, str]]] = []


@contextmanager
def serving(cluster: Cluster, directory: Path) -> Iterator[Path]:
    """A kubeconfig of the server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            cluster.asked.append((url.path, query))
            self.send_response(cluster.status)
            self.send_header("Content-Type", "application/json")
            if "watch" in query:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                text = b"".join(json.dumps(each).encode() + b"\n" for each in cluster.lines)
                for at in range(0, len(text), 100):  # chunks end anywhere
                    part = text[at : at + 100]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.write(b"0\r\n\r\n")
            else:
                body = json.dumps(cluster.pages.pop(0) if cluster.status == 200 else {}).encode()
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    config = directory / "kubeconfig"
    address = f"http://127.0.0.1:{server.server_address[1]}"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": address}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }))  # fmt: skip
    try:
        yield config
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
