"""Token buckets of clients."""

from __future__ import annotations

from api.access.rate_limit import Rate, RateLimit

RATE = Rate(per_s=2, burst=3, clients=2)


def test_a_burst_is_served_and_the_next_one_waits_for_its_share() -> None:
    limit = RateLimit(RATE)
    assert [limit.wait_s("a", 0.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert limit.wait_s("a", 0.5) == 0
    assert limit.wait_s("a", 0.5) == 0.5


def test_refused_requests_do_not_delay_the_next_one() -> None:
    limit = RateLimit(RATE)
    for _ in range(100):
        limit.wait_s("a", 0.0)
    assert limit.wait_s("a", 0.5) == 0


def test_a_pause_gives_no_more_than_a_burst() -> None:
    limit = RateLimit(RATE)
    assert [limit.wait_s("a", 1e6) > 0 for _ in range(4)] == [False, False, False, True]


def test_clients_do_not_share_a_bucket_and_the_buckets_are_bounded() -> None:
    limit = RateLimit(RATE)
    for _ in range(3):
        limit.wait_s("a", 0.0)
    assert limit.wait_s("b", 0.0) == 0
    for number in range(1000):
        limit.wait_s(f"c{number}", 0.0)
    assert len(limit) == 2


def test_a_clock_that_steps_back_locks_no_client_out() -> None:
    limit = RateLimit(RATE)
    limit.wait_s("a", 100.0)
    assert limit.wait_s("a", 0.0) == 0
