"""An exception that ends a thread ends the agent."""

from __future__ import annotations

import threading

import pytest

from probers.process.thread_failures import ThreadFailures


def fail(what: str = "injected") -> None:
    raise RuntimeError(what)


def test_a_thread_that_an_exception_ends_stops_the_agent_and_is_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    stopped = threading.Event()
    failures = ThreadFailures(stopped.set).install()
    thread = threading.Thread(target=fail, name="publish")
    thread.start()
    thread.join()
    assert stopped.is_set()
    assert failures.first is not None
    assert failures.first.startswith(
        "thread publish: RuntimeError: injected at test_thread_failures.py:"
    )
    assert "event=thread-died" in capfd.readouterr().err
