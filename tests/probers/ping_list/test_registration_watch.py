"""Changes of the ready containers are looked for all the time, whatever fails."""

from __future__ import annotations

import threading

from probers.ping_list.document import PingListError
from probers.ping_list.registration_watch import RegistrationWatch


def test_the_watch_goes_on_until_it_is_stopped() -> None:
    looked = threading.Semaphore(0)
    watch = RegistrationWatch(looked.release)
    watch.start()
    assert all(looked.acquire(timeout=300) for _ in range(2))
    watch.stop()


def test_a_controller_that_does_not_answer_does_not_end_the_watch() -> None:
    failed = threading.Event()

    def fail() -> None:
        failed.set()
        raise PingListError("connection refused")

    watch = RegistrationWatch(fail)
    watch.start()
    assert failed.wait(300)
    watch.stop()
