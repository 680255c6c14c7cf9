"""Gaps: tests that proved nothing here, listed by name and reason at the end of a run.

A skipped test is a gap, and with CI=true a failure. A failed test with real packets (``netns``) is
a gap too where the machine was measured to be too busy for its claim, also with CI=true; so is one
that skips itself with such a figure (``TOO_BUSY``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from evaluation.fabric_suite.scheduling_delay import SchedulingDelay

_CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")
#: Errors that state a claim; any other error is a failure, however busy the machine is.
_CLAIMS = (AssertionError, pytest.fail.Exception, TimeoutError)
#: A test that ran shorter than this judges what a fixture of its module measured.
_OWN_S = 5.0
#: What a test says that has measured it by itself, before the figure.
TOO_BUSY = "machine too busy, measured: "
_gaps: list[tuple[str, str]] = []
# How long an example takes on a busy machine says nothing of the code.
settings.register_profile(
    "no deadline", settings.get_profile(settings.get_current_profile_name()), deadline=None
)
settings.load_profile("no deadline")
_delay = pytest.StashKey[SchedulingDelay]()
_module_started_s: dict[Path, float] = {}


@pytest.fixture
def anyio_backend() -> str:
    """Coroutine tests are marked anyio and run on asyncio, as the product does."""
    return "asyncio"


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(report.longrepr)


class FirstStage(LoadScopeScheduling):
    """Two workers (scripts/test.sh): each runs the tests of one group, one after another.

    Real packets are one group. Kafka servers and the API server of Kubernetes are the other: they
    may run beside real packets, since both mostly wait.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return "servers" if path.startswith("tests/integration/") else "packets"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FirstStage | None:
    """``--dist loadgroup`` is the first stage; any other schedule is xdist's own."""
    return FirstStage(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """The scheduling delay is measured from the first test with real packets on."""
    if item.get_closest_marker("netns"):
        _module_started_s.setdefault(item.path, time.monotonic())
        if _delay not in item.config.stash:
            item.config.stash[_delay] = SchedulingDelay()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _delay in config.stash:
        config.stash[_delay].close()


def _too_busy(item: pytest.Item, call: pytest.CallInfo[None]) -> str:
    """The figure and the failed claim, where the machine was too busy to test the claim."""
    if call.excinfo is None or not call.excinfo.errisinstance(_CLAIMS):
        return ""
    if item.path not in _module_started_s:
        return ""
    since_s = _module_started_s[item.path]
    if call.duration > _OWN_S:
        since_s = max(since_s, time.monotonic() - call.duration)
    if complaint := item.config.stash[_delay].complaint(since_s):
        return f"{complaint}; untested claim: {call.excinfo.exconly().splitlines()[0]}"
    return ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, pytest.TestReport]:
    """Turns skipped tests into gaps, and failed ones where the machine was too busy."""
    report: pytest.TestReport = yield
    if report.failed and (busy := _too_busy(item, call)):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {busy}")
        report.user_properties.append(("gap", busy))
    elif report.skipped and not hasattr(report, "wasxfail"):
        reason = _reason(report)
        report.user_properties.append(("gap", reason))
        if _CI and not reason.startswith(TOO_BUSY):
            report.outcome = "failed"
            report.longrepr = f"could not run here, which is a failure with CI=true: {reason}"
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _gaps.extend((report.nodeid, str(why)) for name, why in report.user_properties if name == "gap")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, Any, pytest.CollectReport]:
    """A module that skips itself while it is collected is a gap too."""
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
    """Lists the gaps of this run, and of the run before it where scripts/test.sh makes two."""
    gaps = {f"{name}: {reason}" for name, reason in _gaps}
    if path := os.environ.get("PYTEST_GAPS_FILE"):
        file = Path(path)
        gaps |= set(file.read_text().splitlines())
        file.write_text("".join(f"{gap}\n" for gap in sorted(gaps)))
    if gaps:
        terminalreporter.section("could not run on this machine")
        for gap in sorted(gaps):
            terminalreporter.write_line(gap)
