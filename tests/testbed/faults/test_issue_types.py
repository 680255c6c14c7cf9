"""The table of issue types: complete, and the page made from it up to date."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from schemas.component_ids import KINDS as COMPONENT_KINDS
from schemas.documents.incident import Layer, Symptom
from testbed.faults import issue_types
from testbed.faults.issue_types import PUBLISHED, TABLE, IssueType
from testbed.faults.kinds import KINDS

PAGE = Path(__file__).parents[3] / "docs" / "issue-types.md"


def test_all_nineteen_published_types_are_there_in_order() -> None:
    assert [row.number for row in PUBLISHED.values()] == list(range(1, 20))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_row_uses_the_words_of_the_schemas(row: IssueType) -> None:
    assert set(row.on) <= set(COMPONENT_KINDS)
    assert row.symptom in get_args(Symptom)
    assert row.layer in get_args(Layer)
    assert row.catalogue_name is None or row.catalogue_name in PUBLISHED
    assert row.note.strip()
    if row.range:
        assert row.range[0] <= row.magnitude <= row.range[1]
    assert bool(row.class_) == row.observable


def test_every_row_can_be_injected_under_its_name_and_its_aliases() -> None:
    asked = [name for row in TABLE for name in (row.name, *row.aliases)]
    assert len(asked) == len(set(asked)) == len(KINDS)
    assert KINDS["rnic_down"] == KINDS["rnic_port_down"]


def test_only_an_error_of_gpu_direct_rdma_leaves_probes_untouched() -> None:
    assert [row.name for row in TABLE if not row.observable] == ["gpu_direct_rdma_error"]


def test_the_page_is_the_table() -> None:
    assert PAGE.read_text() == issue_types.markdown(), (
        "run: python -m testbed.faults.issue_types > docs/issue-types.md"
    )
