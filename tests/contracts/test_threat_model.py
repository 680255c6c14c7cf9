"""docs/threat-model.md: each threat has a defence that a test holds, or says that it has none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text()
THREATS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.partition("## Threats")[2].splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| threat |"))
]
NAMES = sorted(set(re.findall(r"`(test_\w+\.py)`", PAGE)))


@pytest.mark.parametrize("name", NAMES)
def test_every_named_test_is_there_once_and_has_tests(name: str) -> None:
    (found,) = (ROOT / "tests").rglob(name)
    assert re.search(r"^(async )?def test_", found.read_text(), re.MULTILINE)


def test_every_threat_names_a_test_or_says_that_it_is_not_defended() -> None:
    assert len(THREATS) > 30
    for cells in THREATS:
        assert len(cells) == 3, cells
        held = cells[2].strip("| ")
        assert "**not defended**" in held or re.search(r"`test_\w+\.py`", held), cells


def test_the_page_is_linked() -> None:
    assert "docs/threat-model.md" in (ROOT / "README.md").read_text()
