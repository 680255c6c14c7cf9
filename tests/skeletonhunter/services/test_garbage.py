"""Survivors are left out of later collections, and garbage of theirs is found at last."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from skeletonhunter.services.controller.garbage import freeze


class Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_garbage_of_frozen_objects_waits_for_a_whole_collection() -> None:
    kept = Cycle()
    freeze(whole=False)
    seen = weakref.ref(kept)
    del kept
    gc.collect()
    freeze(whole=False)
    assert seen() is not None
    freeze(whole=True)
    assert seen() is None


def test_young_garbage_is_not_frozen() -> None:
    kept = Cycle()
    seen = weakref.ref(kept)
    del kept
    freeze(whole=False)
    assert seen() is None
