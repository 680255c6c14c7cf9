"""What the localizer asks for before it names a link, for the coverage of ping lists."""

from __future__ import annotations

from controller.coverage.parameters import DEFAULT
from controller.coverage.power import Naming
from localizer.detectors.alarm_budget import AlarmBudget
from localizer.options import Options
from skeletonhunter.errors import BadInput


def naming(components: int, *, within_s: float, healthy: float | None = None) -> Naming:
    """What the localizer asks for, with its own parameters; raises BadInput.

    components  that it tests [count]
    within_s    from the fault to the incident [s]
    healthy     loss of a healthy round trip; None: the least that the localizer assumes
    """
    options = Options()
    rules = options.verdicts.reachability
    delay_s = options.incidents.sightings.reachability - 1 + options.timing.lateness_s
    windows = [each for each in rules.windows_s if each + delay_s <= within_s]
    if not windows:
        raise BadInput(
            f"--within {within_s:g}: give at least {min(rules.windows_s) + delay_s:g} s, the "
            "shortest window and what it takes to open an incident"
        )
    return Naming(
        level=AlarmBudget(options.false_per_week).level(components, 1.0),
        rest_level=rules.significant,
        healthy=options.baselines.loss.least_rate if healthy is None else healthy,
        dispersion=DEFAULT.dispersion,
        least_excess=options.detectors.loss.least_excess,
        hosts=options.observers,
        window_s=max(windows),
    )
