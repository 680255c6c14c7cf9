"""import skeletonhunter: frames in, incidents out, as the command has them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from builders.api_service import served
from builders.command_line import Command
from builders.monitoring.known_site import known_site
from builders.monitoring.known_store import known_store

import skeletonhunter
from skeletonhunter.errors import BadInput
from store.client import Store, open_store
from store.read_only import ReadOnlySql
from testbed.simulator.files import Written

SAMPLES = Path(__file__).parents[2] / "data" / "samples.csv"


@pytest.fixture(scope="module")
def incidents(broken: Written) -> skeletonhunter.Incidents:
    return skeletonhunter.diagnose(broken.pings, topology=broken.topology)


def test_importing_loads_nothing_large() -> None:
    code = "import skeletonhunter, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"pandas", "numpy", "pyarrow", "typer", "localizer"}.isdisjoint(done.stdout.split())
    assert set(skeletonhunter.__all__) <= set(dir(skeletonhunter))
    with pytest.raises(AttributeError, match="has no attribute 'guess'"):
        skeletonhunter.guess  # noqa: B018  # reading it is the test


def test_records_are_a_frame_with_times(broken: Written) -> None:
    frame = skeletonhunter.read_pings([broken.pings])
    assert len(frame) == broken.records
    assert str(frame["ping_time"].dtype) == "datetime64[ns, UTC]"
    assert frame["ping_time"].min() >= pd.Timestamp("2026-01-01", tz="UTC")
    assert frame.attrs["dead_letters"] == []
    (letter,) = skeletonhunter.read_pings(SAMPLES.with_name("samples-broken.csv")).attrs[
        "dead_letters"
    ]
    assert "samples-broken.csv:3: latency" in letter


def test_a_frame_a_table_and_files_have_the_same_incidents(
    broken: Written, incidents: skeletonhunter.Incidents, command: Command
) -> None:
    frame = skeletonhunter.read_pings(broken.pings)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for records in (frame, table):
        found = skeletonhunter.diagnose(records, topology=broken.topology)
        assert list(found) == list(incidents)
    by_command = command(
        "diagnose", broken.pings, "--topology", broken.topology, "--format", "json"
    )
    assert [f'"{each.incident_id}"' in by_command.out for each in incidents] == [True]


def test_incidents_are_a_sequence_and_a_frame(incidents: skeletonhunter.Incidents) -> None:
    (only,) = incidents
    assert only.kind == "rnic"
    frame = incidents.to_frame()
    assert frame.loc[0, "component"] == only.component
    assert "bad paths cross" in frame.loc[0, "why"]
    assert frame.loc[0, "opened_at"] == pd.Timestamp(only.opened_at)
    assert incidents.enough
    assert incidents.coverage["source_hosts"] == 8
    assert only.component in repr(incidents)
    bad = incidents.bad_paths()
    assert set(bad["incident_id"].dropna()) == {only.incident_id}
    assert bad["loss_rate"].max() == 1.0


def test_bad_paths_are_drawn_beside_the_others(incidents: skeletonhunter.Incidents) -> None:
    upper, _ = incidents.plot().axes
    lines = {line.get_label(): line.get_ydata() for line in upper.get_lines()}
    assert max(lines["bad paths"]) == pytest.approx(100.0)
    assert max(lines["all other paths"]) < 5.0
    with pytest.raises(ValueError, match="no incident has an id"):
        incidents.plot("none")


def test_a_plot_of_no_incidents_says_that_there_are_none() -> None:
    nothing = skeletonhunter.diagnose(SAMPLES)
    for wanted in (None, "a1"):
        with pytest.raises(ValueError, match="there are no incidents"):
            nothing.plot(wanted)


def test_names_of_data_are_text_in_a_notebook(incidents: skeletonhunter.Incidents) -> None:
    shown = incidents._repr_html_()  # what Jupyter calls
    assert shown.startswith("<table")
    nothing = skeletonhunter.diagnose(SAMPLES)
    assert nothing._repr_html_().startswith("<p>not enough to judge")  # as above


def test_the_report_is_the_commands(incidents: skeletonhunter.Incidents, tmp_path: Path) -> None:
    page = incidents.report(tmp_path / "r.html").read_text()
    assert incidents[0].component in page
    assert "<script" not in page


def test_columns_of_other_names_and_a_part_of_the_time(broken: Written) -> None:
    frame = skeletonhunter.read_pings(broken.pings).rename(columns={"src_ip": "source"})
    with pytest.raises(BadInput, match="frame: required columns are missing: src_ip; columns="):
        skeletonhunter.diagnose(frame)
    found = skeletonhunter.diagnose(
        frame, columns={"source": "src_ip"}, until="2026-01-01 00:00:10"
    )
    assert (len(found), found.coverage["seconds"]) == (0, 10)


def test_what_cannot_be_used_is_one_line() -> None:
    with pytest.raises(BadInput, match="no strategy named 'guess'"):
        skeletonhunter.diagnose(SAMPLES, strategy="guess")
    with pytest.raises(BadInput, match="No such file"):
        skeletonhunter.read_pings("absent.csv")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with known_store(tmp_path_factory.mktemp("stored") / "store") as opened:
        known_site(opened)
        yield opened


@pytest.fixture(params=["api", "store"])
def connection(store: Store, request: pytest.FixtureRequest) -> Iterator[skeletonhunter.Connection]:
    """Through an API, and to the store itself."""
    if request.param == "store":
        with skeletonhunter.connect(store.name) as opened:
            yield opened
    else:
        with (
            closing(open_store(store.name)) as own,
            served(store, people_sql=ReadOnlySql(own)) as client,
            skeletonhunter.connect(str(client.base_url)) as opened,
        ):
            yield opened


def test_what_is_stored_comes_as_frames(connection: skeletonhunter.Connection) -> None:
    incidents = connection.incidents(since="2026-01-31")
    assert sorted(incidents["incident_id"]) == ["AAAA", "BBBB", "CCCC"]
    assert str(incidents["opened_at"].dtype).endswith("UTC]")
    assert connection.incidents(until="2026-01-01").empty
    windows = connection.windows("2026-01-31 12:00", "2026-01-31 12:00:05", host="h1")
    assert windows["sent"].tolist() == [30, 30]
    assert connection.windows("2026-01-31", host="nowhere").empty
    loss = connection.sql("SELECT sum(lost) AS lost FROM path_minutes WHERE layer = {l:String}",
                          l="underlay")  # fmt: skip
    assert loss["lost"].tolist() == [30]
    with pytest.raises(BadInput, match="function file may not be used here"):
        connection.sql("SELECT * FROM file('/etc/passwd')")


def test_windows_and_throughput_of_a_job_need_no_join(
    connection: skeletonhunter.Connection,
) -> None:
    first = "2026-01-31 12:00", "2026-01-31 12:00:05"
    windows = connection.windows(*first, job="llm-70b")
    assert windows[["job", "sent"]].to_numpy().tolist() == [["llm-70b", 30]] * 2
    assert windows["src_rail"].tolist() == [0, 0]
    assert connection.windows(*first, job="bert").empty
    assert connection.windows(*first, host="h9", job="llm-70b").empty
    sent = connection.throughput("2026-01-31", host="h1")
    assert sent["tx_bytes_per_s"].tolist() == [1e9, 3e9]
    assert connection.throughput("2026-01-31", "2026-01-31 12:01", host="h1")["seconds"].sum() == 60
    of_job = connection.throughput("2026-01-31", job="llm-70b")
    assert of_job["real_ip"].tolist() == ["10.0.0.1", "10.0.1.2"] * 2
    assert connection.throughput("2026-01-31", job="bert").empty


def test_a_wrong_address_is_one_line() -> None:
    with pytest.raises(BadInput, match="a ClickHouse URL cannot start like this"):
        skeletonhunter.connect("postgres://localhost/")
