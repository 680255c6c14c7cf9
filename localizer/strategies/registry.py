"""The strategies by name: registration, lookup, and the parameter variants of each."""

from __future__ import annotations

from collections.abc import Callable

from localizer.errors import LocalizerError, UnknownStrategy
from localizer.evidence import Attribution, Evidence

Strategy = Callable[[Evidence], list[Attribution]]

_registry: dict[str, Strategy] = {}
_variants: dict[str, dict[str, Strategy]] = {}


def strategy(name: str) -> Callable[[Strategy], Strategy]:
    """Register a strategy under a name that no other has."""

    def register(function: Strategy) -> Strategy:
        if name in _registry:
            raise LocalizerError(f"two strategies are named {name!r}; rename one")
        _registry[name] = function
        return function

    return register


def get(name: str) -> Strategy:
    """The strategy of that name; raises UnknownStrategy naming the choices."""
    if name not in _registry:
        raise UnknownStrategy(name, _registry)
    return _registry[name]


def vary(name: str, settings: dict[str, Strategy]) -> None:
    """Register variants of a strategy: label -> the strategy with other parameters."""
    _variants[name] = settings


def variants(name: str) -> dict[str, Strategy]:
    """A strategy with the parameters that its paper tunes on the network at hand, by label.

    They are not chosen among here; a comparison may do so, on data apart from the test's.
    """
    get(name)
    return dict(_variants.get(name, {}))


def names() -> list[str]:
    """All registered names, sorted."""
    return sorted(_registry)
