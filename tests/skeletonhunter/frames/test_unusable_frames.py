"""Frames, times and addresses of which nothing comes: one line each, and no empty answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import skeletonhunter
from skeletonhunter.errors import BadInput
from testbed.simulator.files import Written


def test_what_is_no_frame_and_no_file_is_one_line() -> None:
    with pytest.raises(BadInput, match=r"neither a frame, .* NoneType; pandas.DataFrame"):
        skeletonhunter.diagnose(None)  # type: ignore[arg-type]  # what people do
    with pytest.raises(BadInput, match=r"neither a frame, .* dict; pandas.DataFrame"):
        skeletonhunter.diagnose([{"src_ip": "10.0.0.1"}])  # type: ignore[list-item]  # as above
    with pytest.raises(BadInput, match="records: an empty list of files"):
        skeletonhunter.diagnose([])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.head(0), "nothing could be judged: there are no ping records"),
        (lambda f: f.assign(dial="ok"), "all .* dead letters; the first is frame:0: dial: 'ok' is"),
        (lambda f: f.assign(ping_time="noon"), "dead letters; the first is frame:0: ping_time"),
        (lambda f: f.assign(ping_time=f["ping_time"].dt.as_unit("s").astype("int64")),
         r"ping_time 1767225\d+ is in s, and has to be in ns .* times = 1_000_000_000 }"),
        (lambda f: f.assign(ping_time=f["ping_time"].dt.as_unit("ms").astype("int64")), "is in ms"),
        (lambda f: f.assign(ping_time=f["ping_time"].dt.as_unit("us").astype("int64")), "is in us"),
        (lambda f: f.assign(loss_rate=100 * f["loss_rate"]), "frame: loss_rate 100.0 is no share"),
        (lambda f: f.assign(dial=[0, *f["dial"][1:]]), "frame: a column has values of several typ"),
    ],
)  # fmt: skip
def test_a_frame_of_which_nothing_can_be_judged_is_an_error(
    broken: Written, change: Callable[[pd.DataFrame], pd.DataFrame], said: str
) -> None:
    """An empty list of incidents would read as "the network is innocent"."""
    frame = change(skeletonhunter.read_pings(broken.pings))
    with pytest.raises(BadInput, match=said):
        skeletonhunter.diagnose(frame)


def test_what_was_left_out_is_shown_with_the_incidents(broken: Written) -> None:
    frame = skeletonhunter.read_pings(broken.pings)
    frame.loc[frame.index[1], "src_ip"] = None
    found = skeletonhunter.diagnose(frame, until="2026-01-01T00:00:25Z")
    (letter,) = found.dead_letters
    assert letter.startswith("frame:1: src_ip")
    assert f"1 dead letter; the first is {letter}" in repr(found)
    (note,) = found.notes
    assert note.endswith("records were sent from 2026-01-01T00:00:00Z to 2026-01-01T00:00:29Z")
    assert len(found) == 1
    assert found._repr_html_().startswith("<p>1 dead letter;")  # what Jupyter calls
    with pytest.raises(
        BadInput, match="all 7,711 valid records are outside of --since and --until"
    ):
        skeletonhunter.diagnose(frame, since="2030-01-01")


def test_a_column_to_map_that_is_not_there_is_an_error(broken: Written) -> None:
    frame = skeletonhunter.read_pings(broken.pings)
    with pytest.raises(BadInput, match="frame: no column latenzy to read latency from; did you me"):
        skeletonhunter.diagnose(frame, columns={"latenzy": "latency"})


def test_a_folder_without_a_store_is_one_line_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="absent: there is no store; give the folder"):
        skeletonhunter.connect(f"chdb:{tmp_path / 'absent'}")
    assert not (tmp_path / "absent").exists()


def test_a_wrong_time_is_one_line() -> None:
    with (
        skeletonhunter.connect("http://127.0.0.1:1/") as nothing,
        pytest.raises(BadInput, match="'noon': no time; write '2026-01-31 12:00'"),
    ):
        nothing.windows("noon")
