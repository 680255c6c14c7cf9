"""promtool, Prometheus and Alertmanager, where scripts/prometheus-tools.sh has put them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

PROJECT: Final = Path(__file__).parents[3]
SHIPPED: Final = PROJECT / "prometheus"


def tool(name: str) -> str:
    """The path of a tool; skips the test where it is not there."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    found = shutil.which(name, path=f"{cache}/skeletonhunter/prometheus/usr/bin:{os.defpath}")
    if found is None:
        pytest.skip(f"needs {name} (scripts/prometheus-tools.sh downloads it)")
    return found
