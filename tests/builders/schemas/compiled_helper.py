"""The compiled helper in tests: with it, and without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from schemas.compiled import native


@contextmanager
def in_python() -> Iterator[None]:
    """Everything within is done without the helper."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(native.VARIABLE, "off")
        yield


def compiled() -> ModuleType:
    """The helper; skips the test where it is not built."""
    if missing := native.why_not():
        pytest.skip(f"the compiled helper (scripts/native.sh): {missing}")
    assert native.module is not None
    return native.module
