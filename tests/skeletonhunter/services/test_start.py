"""What a stream worker loads: after a SIGKILL nothing is judged until it has."""

from __future__ import annotations

import subprocess
import sys


def test_a_stream_worker_loads_neither_the_store_nor_the_pages_nor_all_of_scipy() -> None:
    code = (
        "import sys; import skeletonhunter.services.stream, api.routes.monitoring_app; "
        "slow = {'clickhouse_connect', 'api.app', 'scipy.stats', 'pandas', 'statsmodels'}; "
        "print('loaded', *sorted(slow & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["loaded"]
