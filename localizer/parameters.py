"""The registry of the localizer's parameters: every dataclass that declares some, by name."""

from __future__ import annotations

from localizer import coverage, second_batch
from localizer.detectors import single_series
from localizer.detectors.alarm_budget import AlarmBudget
from localizer.explanation import parameters as explanation
from localizer.fabric import parameters as fabric
from localizer.options import Options
from localizer.strategies import crossing as published
from localizer.strategies import deepview, flock, intersection, netbouncer, pll, vote007
from localizer.strategies.hypothesis import parameters as hypothesis
from localizer.suppression import parameters as suppression


def groups() -> dict[str, object]:
    """Name -> instance with the values in force, for ``schemas.parameters.parameter.rows``."""
    options = Options()
    return {
        "localizer": options,
        "localizer.coverage": coverage.DEFAULT,
        "localizer.second_batch": second_batch.DEFAULT,
        "localizer.fabric.routes": fabric.ROUTES,
        "localizer.fabric.route_changes": fabric.ROUTE_CHANGES,
        "localizer.fabric.untraced_links": fabric.UNTRACED_LINKS,
        "localizer.suppression": suppression.DEFAULT,
        "localizer.explanation": explanation.DEFAULT,
        "localizer.detectors.alarm_budget": AlarmBudget(options.false_per_week),
        "localizer.detectors.single_series": single_series.DEFAULT,
        "localizer.strategies.hypothesis": hypothesis.DEFAULT,
        "localizer.strategies.published": published.DEFAULT,
        "localizer.strategies.deepview": deepview.DEFAULT,
        "localizer.strategies.flock": flock.DEFAULT,
        "localizer.strategies.intersection": intersection.DEFAULT,
        "localizer.strategies.netbouncer.all_routes_known": netbouncer.KNOWN,
        "localizer.strategies.netbouncer.active_probes": netbouncer.ACTIVE,
        "localizer.strategies.pll": pll.DEFAULT,
        "localizer.strategies.vote007": vote007.DEFAULT,
    }
