"""Messages that come again are left out; late ones are not taken for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.signing.headers import Claim
from streams.admission.replays import Replays

NOW_S = 1_780_000_000


def take(
    replays: Replays, signed_s: float, arrival_s: float | None = None, *, mark: bytes = b"a"
) -> bool:
    """Whether the message is taken. Times from NOW_S."""
    claim = Claim("f1", "h1", "k1", int((NOW_S + signed_s) * 1e9))
    arrival_ns = int((NOW_S + (signed_s if arrival_s is None else arrival_s)) * 1e9)
    return not replays.repeated(claim, mark * 32, arrival_ns)


def test_a_repeated_message_is_a_replay_soon_and_long_after() -> None:
    replays = Replays()
    assert all(take(replays, s / 2) for s in range(1000))
    assert not any(take(replays, s / 2, 501) for s in (999, 900, 500, 100, 0))


def test_a_backlog_after_an_outage_is_accepted_whatever_its_age() -> None:
    replays = Replays()
    assert take(replays, 0)
    assert all(take(replays, s, 3600) for s in range(1, 600))
    assert take(replays, 3600)


def test_messages_that_overtake_each_other_are_both_accepted() -> None:
    replays = Replays()
    assert take(replays, 10)
    assert take(replays, 9.5, 10)
    assert not take(replays, 9.5, 10)
    assert take(replays, 10, mark=b"b"), "another message of the same moment"


def test_a_clock_that_is_set_right_is_accepted_and_its_past_is_not() -> None:
    replays = Replays()
    assert all(take(replays, 8 * 3600 + s, s) for s in range(10))
    assert all(take(replays, s) for s in range(10, 20))
    assert not take(replays, 15, 20)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=60))
def test_no_message_is_accepted_twice(seconds: list[int]) -> None:
    """Whatever is taken in whatever order, each of the last two minutes at most once."""
    replays = Replays()
    taken = []
    for now, second in enumerate(seconds):
        if take(replays, second, 400 + now):
            assert second not in taken
            taken.append(second)
