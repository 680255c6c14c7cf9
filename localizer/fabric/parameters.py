"""Parameters of routes: how much is learnt from traceroutes, and what untraced paths may hide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class RouteParameters:
    """Bounds of what traceroutes may add to the switch graph and to the traced routes.

    most_hops       routes with more hops are not read
    most_learnt     switches that are learnt without a topology: a hop of a traceroute is a switch
                    because a record says so,
    learnt_per_tor  and so many more per ToR
    most_waiting    five-tuples without a path whose routes are stored
    most_homes      ToRs over which one rnic is bonded: what would put more together is not read
    """

    most_hops: int = parameter(
        32, unit="hops",
        source="chosen: no fabric has so many tiers, and tables are as wide as the longest route",
    )  # fmt: skip
    most_learnt: int = parameter(
        512, unit="switches", source="chosen: bounds what untrusted records may add"
    )
    learnt_per_tor: int = parameter(
        32, unit="switches/ToR", source="chosen: the interfaces of a ToR's peers may all be named"
    )
    most_waiting: int = parameter(
        100_000, unit="five-tuples", source="chosen: bounds what untrusted records may add"
    )
    most_homes: int = parameter(
        8, unit="ToRs", source="chosen: bonds have two, or four; untrusted records may name any"
    )


@dataclass(frozen=True, slots=True)
class UntracedLinkParameters:
    """When a component that no traced route shows is listed beside the one that a verdict names.

    covers     share of the trouble that must have crossed a component for it to be the cause of all
    elsewhere  bad untraced paths that do not cross the named component, as a share of its own,
    fewest     and at least so many: from these on, one switch above the ToRs may cause both
    cleared    traced paths clear a component if the probability of so little trouble on them is
               below this, were the component half as bad as the bad paths are
    most       components that are listed
    joint      so many components at once are less probable than one unseen switch above the ToRs
    most_crossed  share of a component's paths that may cross one such switch: of two in parallel,
                  by the request or the reply
    """

    covers: float = parameter(
        0.9, unit="1", source="chosen: pytest tests/localizer/fabric/test_untraced_links.py"
    )
    elsewhere: float = parameter(
        0.25, unit="1", source="chosen: pytest tests/localizer/fabric/test_untraced_links.py"
    )
    fewest: int = parameter(
        3, unit="paths", source="chosen: pytest tests/localizer/fabric/test_untraced_links.py"
    )
    cleared: float = parameter(
        1e-3, unit="1", source="chosen: pytest tests/localizer/fabric/test_untraced_links.py"
    )
    most: int = parameter(16, unit="components", source="chosen: what fits a document")
    joint: int = parameter(
        3, unit="components", source="chosen: pytest tests/localizer/verdicts/test_unseen_switch.py"
    )
    most_crossed: float = parameter(0.75, unit="1", source="derived: 1 - (1 - 1/2)^2")


@dataclass(frozen=True, slots=True)
class RouteChangeParameters:
    """When routes are in doubt because those of other five-tuples have changed.

    least_left  five-tuples that have left a switch or link,
    share_left  and their share among those traced since that crossed it: then all routes over it
                that have not been traced since are in doubt
    share_moved share of all that are traced again whose route is another: then all are in doubt
    calm_s      after so long without another, the next change is a new one
    unstable    a five-tuple whose route was another in so many traceroutes in a row has none:
                its packets are sprayed, say
    """

    least_left: int = parameter(
        3, unit="five-tuples", source="chosen: pytest tests/localizer/fabric/routes"
    )
    share_left: float = parameter(
        0.3, unit="1", source="chosen: a new ECMP hash moves half of what crosses one of two"
    )
    share_moved: float = parameter(
        0.5, unit="1", source="chosen: more than leave one drained switch of three"
    )
    calm_s: int = parameter(
        180, unit="s", source="chosen: three rounds of traceroutes, once a minute"
    )
    unstable: int = parameter(
        2, unit="changes", source="chosen: pytest tests/localizer/fabric/routes"
    )


ROUTES: Final = RouteParameters()
UNTRACED_LINKS: Final = UntracedLinkParameters()
ROUTE_CHANGES: Final = RouteChangeParameters()
