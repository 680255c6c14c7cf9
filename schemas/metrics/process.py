"""Metrics of a process as such, whatever its part."""

from __future__ import annotations

from typing import Final

from schemas.metrics import Metric

PROCESS_MALLOC: Final = Metric(
    "skh_process_malloc_bytes", "gauge",
    "Memory of this process that malloc manages [B], by state: used, or free room that is kept for "
    "later; without Python's small objects and Arrow's buffers, and only where glibc says so",
    ("state",),
)  # fmt: skip
