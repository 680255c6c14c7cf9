"""The agent stays small: no large library, little memory, few file descriptors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from builders.agents.health_client import get
from builders.agents.site import Site, ended
from builders.agents.waiting import Until

from testbed.services.ports import free_port


def test_the_agent_imports_no_large_library_and_needs_little_memory(
    site: Site, eventually: Until
) -> None:
    code = (
        "import sys, probers.agent.main, schemas.metrics\n"
        "print(sorted({'prometheus_client', 'numpy', 'pyarrow', 'pydantic', 'asyncio', "
        "'http.server', 'socketserver'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    site.write_list([site.ips[0], site.ips[1]])
    port = free_port()
    process = site.start("--health-listen", f"127.0.0.1:{port}", "--relay-listen",
                         str(site.directory / "own.sock"))  # fmt: skip
    eventually(lambda: len(site.pings) > 100)
    threads = [threading.Thread(target=lambda: [get(port, "/metrics") for _ in range(10)])
               for _ in range(5)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    rss_mb = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    descriptors = len(os.listdir(f"/proc/{process.pid}/fd"))
    code_, errors = ended(process)
    assert code_ == 0, errors
    assert rss_mb <= 35.0
    assert descriptors < 40


def test_an_agent_loads_none_of_the_analyzers_libraries() -> None:
    script = (
        "import sys, probers.agent.main\n"
        "from probers.publishing.encoding.encode import to_arrow\n"
        "to_arrow([{'dial': 'success', 'ping_time': 1}])\n"
        "heavy = {'numpy', 'pyarrow', 'pandas', 'scipy', 'pydantic', 'typer', 'rich'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
