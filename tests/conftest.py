"""Whatever could not run is said by name and reason; with CI=true it is a failure."""

from __future__ import annotations

import os
from collections.abc import Generator
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
    if _gaps:
        terminalreporter.section("could not run on this machine")
        for name, reason in sorted(set(_gaps)):
            terminalreporter.write_line(f"{name}: {reason}")
