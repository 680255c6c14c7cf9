"""Bad paths belong to the attribution that explains most of their trouble."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from localizer.evidence import Attribution
from localizer.fabric.incidence.factored import FactoredIncidence
from localizer.fabric.observability import Classes
from localizer.verdicts.attribute import owners

#: Path 0 crosses a; path 1 a and b; path 2 b, on half of its routes; path 3 neither.
SHARES = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.5], [0.0, 0.0]])
GROUPS = Classes(
    [["tor:a"], ["tor:b"]], np.zeros(2, bool), np.zeros(2, bool),
    FactoredIncidence.unfactored(sparse.csr_array(SHARES)),
)  # fmt: skip


@pytest.mark.parametrize("latency", [False, True])
@pytest.mark.parametrize(
    ("effects", "expected"), [((0.1, 0.4), [0, 1, 1, -1]), ((0.4, 0.1), [0, 0, 1, -1])]
)
def test_a_path_on_two_culprits_belongs_to_the_one_with_the_larger_effect(
    effects: tuple[float, float], expected: list[int], *, latency: bool
) -> None:
    attributions = [Attribution(column, effect, 1e-9) for column, effect in enumerate(effects)]
    assert owners(GROUPS, attributions, latency=latency).tolist() == expected


def test_without_attributions_no_path_has_an_owner() -> None:
    assert owners(GROUPS, [], latency=False).tolist() == [-1] * 4
