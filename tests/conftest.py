"""Whatever could not run is said by name and reason; with CI=true it is a failure."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")
_gaps: list[tuple[str, str]] = []


@pytest.fixture
def anyio_backend() -> str:
    """Coroutine tests are marked anyio and run on asyncio, as the product does."""
    return "asyncio"


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(report.longrepr)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, pytest.TestReport]:
    """A skipped test is a gap in what was proved; in CI nobody would notice it."""
    report: pytest.TestReport = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = _reason(report)
        report.user_properties.append(("gap", reason))
        if _CI:
            report.outcome = "failed"
            report.longrepr = f"could not run here, which is a failure with CI=true: {reason}"
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _gaps.extend((report.nodeid, str(why)) for name, why in report.user_properties if name == "gap")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, Any, pytest.CollectReport]:
    """The same for a module that skips itself while it is collected."""
    report: pytest.CollectReport = yield
    if report.skipped:
        _gaps.append((report.nodeid, _reason(report)))
        if _CI:
            report.outcome = "failed"
            report.longrepr = (
                f"could not run here, which is a failure with CI=true: {_reason(report)}"
            )
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The gaps of this run, and of the run before it where scripts/test.sh makes two."""
    gaps = {f"{name}: {reason}" for name, reason in _gaps}
    if path := os.environ.get("PYTEST_GAPS_FILE"):
        file = Path(path)
        gaps |= set(file.read_text().splitlines())
        file.write_text("".join(f"{gap}\n" for gap in sorted(gaps)))
    if gaps:
        terminalreporter.section("could not run on this machine")
        for gap in sorted(gaps):
            terminalreporter.write_line(gap)
