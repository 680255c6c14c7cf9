"""A replay, records in and incidents out, needs no service and loads no client of one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

SAMPLES: Final = Path(__file__).parent.parent / "data" / "samples.csv"
CLIENTS: Final = ("faust", "mode", "aiokafka", "confluent_kafka", "clickhouse_connect", "chdb")

_DIAGNOSE: Final = """
import sys
from skeletonhunter.__main__ import main
sys.argv = ["skeletonhunter", "diagnose", sys.argv[1]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("loaded:", *sorted(sys.modules))
"""


def test_diagnose_loads_neither_faust_nor_kafka_nor_clickhouse() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DIAGNOSE, str(SAMPLES)], check=True, capture_output=True, text=True
    )
    loaded = done.stdout.splitlines()[-1].split()
    assert "streams.replay" in loaded, "otherwise the list proves nothing"
    assert not {*CLIENTS} & {*loaded}
