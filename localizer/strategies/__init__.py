"""Localization strategies: Evidence in, attributions out; one function each, registered by name.

Start with ``registry``; ``hypothesis`` is the default, the others are published methods. Importing
this package registers all of them. Every registered strategy runs through ``tests/contracts``.
"""

from localizer.strategies import deepview, flock, intersection, netbouncer, pll, vote007
from localizer.strategies.hypothesis import strategy as hypothesis
from localizer.strategies.registry import Strategy, get, names, variants

__all__ = [
    "Strategy", "deepview", "flock", "get", "hypothesis", "intersection", "names", "netbouncer",
    "pll", "variants", "vote007",
]  # fmt: skip
