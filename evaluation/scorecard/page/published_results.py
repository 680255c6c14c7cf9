"""Published figures of other systems, each with its source."""

from __future__ import annotations

from typing import Final, NamedTuple


class Published(NamedTuple):
    """A published figure; ``on`` is what it was reached on."""

    who: str
    figure: str
    on: str
    source: str


#: Setting -> strategy, or a method that is not implemented here -> published mean F1.
SETTINGS: Final[dict[str, dict[str, str]]] = {
    "fat_tree_sparse": {
        "flock": "0.94, re-tuned 0.95",
        "netbouncer": "re-tuned 0.905",
        "vote007": "0.739",
        "stepwise likelihood": "0.986",
    },
    "fat_tree_noisy": {
        "flock": "0.706-0.728",
        "netbouncer": "swept 0.985",
        "vote007": "0.398",
        "stepwise likelihood": "1.000 told the healthy loss, 0.864 told 2e-4",
    },
    "detector": {"pll": "98 % accuracy, < 1 % false, in a simulation of its own"},
}
#: Sources of the figures in ``SETTINGS``.
SETTINGS_SOURCE: Final = (
    "Published figures of the two fat-trees: the authors' own code where it exists, otherwise a "
    "plain version of the method, on a draw of the same setting, mean F1 over five to ten seeds; "
    "stepwise likelihood is a plain greedy search with re-fitted rates. Those of deTector: USENIX "
    "ATC 2017."
)

#: Whole systems, and the fat-tree's mix of losses as others report it.
SYSTEMS: Final = (
    Published("SkeletonHunter", "precision 98.2 %, recall 99.3 %, localized 95.7 %, 8 s to detect",
        "4,816 failures in six months of production", "SIGCOMM 2025, 10.1145/3718958.3750513"),
    Published("R-Pingmesh", "157 of 157 switch problems right, 20 of 50 RNIC problems",
        "207 reports in production", "SIGCOMM 2024"),
    Published("Panorama", "15 of 15 gray failures, < 7 s", "injected failures", "OSDI 2018"),
    Published("NetBouncer", "15 of 26 links, F1 0.732; in five peel-off rounds 22 of 26, F1 0.898",
        "k=8 fat-tree, 10 % of links bad, 100 packets a path", "published comparison"),
    Published("Flock", "18 of 26 links, F1 0.818", "the same", "published comparison"),
    Published("deTector", "within 1 s at 82,944 links", "speed", "USENIX ATC 2017"),
)  # fmt: skip
