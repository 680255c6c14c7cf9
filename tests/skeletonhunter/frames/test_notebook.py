"""docs/notebooks: every cell runs, and the notebook finds what it says it finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

NOTEBOOK = Path(__file__).parents[3] / "docs" / "notebooks" / "first-look.ipynb"


@pytest.mark.slow
def test_every_cell_of_the_first_look_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    names: dict[str, Any] = {}
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "the notebook is kept without outputs"
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)  # noqa: S102
    assert len(names["incidents"]) > 0
    assert names["bad"]["lost"].sum() > 0
    assert (tmp_path / "first-look" / "incidents.html").exists()
