"""Exit code 0 when a part of this machine is ready, else 1: a container's health check.

python -m probers.health.ready PORT
"""

from __future__ import annotations

import http.client
import sys
from typing import Final

_TIMEOUT_S: Final = 4.0


def main(arguments: list[str]) -> int:
    """Ask /readyz on a port of loopback; one line says why not."""
    if len(arguments) != 1 or not arguments[0].isdecimal():
        print("usage: python -m probers.health.ready PORT", file=sys.stderr)
        return 2
    connection = http.client.HTTPConnection("127.0.0.1", int(arguments[0]), timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        text = answer.read(1000).decode(errors="replace").strip()
    except (OSError, http.client.HTTPException) as why:
        print(f"port {arguments[0]}: {why}")
        return 1
    finally:
        connection.close()
    print(f"{answer.status} {text}")
    return 0 if answer.status == 200 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
