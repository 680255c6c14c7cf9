"""load puts files into a store, sql asks it: through the API where one runs, else itself."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from builders.api_service import served
from builders.command_line import Command

from skeletonhunter.embedded.runtime import URL_FILE
from store import migrate
from store.client import Store, open_store
from store.read_only import ReadOnlySql


@pytest.fixture
def broken(command: Command, tmp_path: Path) -> Path:
    """Files of a cluster in which an rnic dies."""
    scenario = tmp_path / "one.toml"
    scenario.write_text(
        'proves = "a NIC goes down"\nduration_s = 45\n[fabric]\nname = "f"\nhosts = 8\nrails = 2\n'
        'hosts_per_segment = 4\n[[faults]]\nkind = "rnic_down"\ncomponent = "any rnic"\nat = 20\n'
    )
    assert command("simulate", scenario, "--seed", "3", "--out", tmp_path / "out").code == 0
    return tmp_path / "out"


def test_what_was_loaded_can_be_asked_for(command: Command, broken: Path, tmp_path: Path) -> None:
    data = ("--data", tmp_path / "store")
    done = command("load", broken / "*.parquet", "--topology", broken / "topology.json", *data)
    assert done.code == 0, done
    assert [line.split()[-1] for line in done.out.splitlines()] == [
        "pings", "topology_components", "path_windows", "anomalies", "incidents",
    ]  # fmt: skip
    blamed = json.loads((broken / "truth.json").read_text())
    asked = command(
        "sql", "SELECT component, state FROM incidents_latest", *data, "--format", "csv"
    )
    assert asked.code == 0
    name = asked.out.splitlines()[1].split(",")[0].strip('"')
    assert name in json.dumps(blamed)
    probes = command("sql", "SELECT sum(sent) AS n FROM path_minutes", *data, "--format", "json")
    assert json.loads(probes.out)["n"] not in (0, "0")


@pytest.mark.parametrize("judged", [True, False], ids=["judged", "records only"])
def test_documents_beside_the_records_are_stored_once(
    command: Command, broken: Path, tmp_path: Path, judged: bool
) -> None:
    data = ("--data", tmp_path / "store")
    placement = tmp_path / "placement.ndjson"
    fabric = json.loads((broken / "topology.json").read_text())
    placement.write_text(json.dumps({
        "fabric": "f", "node_id": "c-1", "state": "ready", "job": "j", "tenant": "t",
        "node_sn": fabric["hosts"][0]["node_sn"], "valid_from": "2026-05-28T20:26:40Z",
        "endpoints": [],
    }))  # fmt: skip
    for _ in range(2):
        done = command(
            "load", broken / "pings.parquet", "--topology", broken / "topology.json",
            "--heartbeats", broken / "heartbeats.ndjson", "--placement", placement,
            *([] if judged else ["--records-only"]), *data,
        )  # fmt: skip
        assert done.code == 0, done
    stored = {line.split()[-1] for line in done.out.splitlines()}
    assert stored >= {"topology_components", "placement", "heartbeats"}
    asked = command(
        "sql",
        "SELECT (SELECT count() FROM topology_components FINAL WHERE kind = 'host'), "
        "(SELECT groupArray(job) FROM placement FINAL), "
        "(SELECT uniq(node_sn) FROM heartbeats FINAL), "
        "(SELECT max(valid_from) FROM topology_components) = (SELECT toDateTime64(min(ping_time), "
        "3, 'UTC') FROM pings)", *data, "--format", "tsv",
    )  # fmt: skip
    assert asked.out.splitlines()[1] == "8\t['j']\t8\t1", asked


def test_a_document_of_no_time_leaves_no_store_behind(
    command: Command, broken: Path, tmp_path: Path
) -> None:
    topology = tmp_path / "topology.json"
    document = json.loads((broken / "topology.json").read_text())
    topology.write_text(json.dumps(document | {"valid_from": "1960-01-01T00:00:00Z"}))
    done = command(
        "load", broken / "pings.parquet", "--topology", topology, "--data", tmp_path / "store"
    )
    assert done.code == 2, done
    assert "valid_from '1960-01-01T00:00:00Z' is not of our age" in done.err
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "store").exists()


def test_invalid_heartbeats_are_said(command: Command, broken: Path, tmp_path: Path) -> None:
    beats = tmp_path / "beats.ndjson"
    beats.write_bytes((broken / "heartbeats.ndjson").read_bytes() + b"{}\n")
    done = command(
        "load", broken / "pings.parquet", "--heartbeats", beats, "--records-only",
        "--data", tmp_path / "store",
    )  # fmt: skip
    assert done.code == 0
    assert "lines that are no heartbeats: 1; " in done.err


def test_the_same_file_twice_is_stored_once(command: Command, broken: Path, tmp_path: Path) -> None:
    data = ("--data", tmp_path / "store")
    counts = []
    for _ in range(2):
        assert command("load", broken / "pings.parquet", "--records-only", *data).code == 0
        counts.append(command("sql", "SELECT count() FROM pings_unique", *data).out)
    assert counts[0] == counts[1]


def test_an_invalid_record_is_stored_as_a_dead_letter(command: Command, tmp_path: Path) -> None:
    file = Path(__file__).parents[3] / "data" / "samples-broken.csv"
    data = ("--data", tmp_path / "store")
    assert command("load", file, *data).code == 0
    asked = command("sql", "SELECT line, reason FROM dead_letters", *data, "--format", "tsv")
    assert asked.out.splitlines()[1].startswith(f"3\t{file}: ")


def test_a_table_is_aligned_and_printable(command: Command, tmp_path: Path) -> None:
    file = Path(__file__).parents[3] / "data" / "samples.csv"
    command("load", file, "--records-only", "--data", tmp_path / "store")
    done = command(
        "sql", "SELECT {n:UInt8} AS a, 'x\\x1b' AS long_name, NULL AS c", "--param", "n=7",
        "--data", tmp_path / "store",
    )  # fmt: skip
    assert done.out == "a  long_name  c\n-  ---------  -\n7  x\\x1b\n"


@pytest.mark.parametrize("form", ["JSON", "JSONCompact", "JSONCompact;"])
def test_a_format_that_a_statement_names_is_exact(
    command: Command, tmp_path: Path, form: str
) -> None:
    file = Path(__file__).parents[3] / "data" / "samples.csv"
    command("load", file, "--records-only", "--data", tmp_path / "store")
    done = command("sql", f"SELECT 1 AS n FORMAT {form}", "--data", tmp_path / "store")
    assert json.loads(done.out)["data"] in ([{"n": 1}], [[1]])


def test_a_file_is_no_folder_for_a_store(command: Command, tmp_path: Path) -> None:
    file = Path(__file__).parents[3] / "data" / "samples.csv"
    (tmp_path / "file").touch()
    for data in (tmp_path / "file", tmp_path / "file" / "below"):
        done = command("load", file, "--data", data)
        assert done.code == 2, done
        assert done.error_line.startswith(f"skeletonhunter: {data}: ")


@pytest.mark.parametrize("more", [[], ["--records-only"], ["--since", "noon"]])
def test_unusable_files_leave_no_store_behind(
    command: Command, tmp_path: Path, more: list[str]
) -> None:
    (tmp_path / "empty.csv").touch()
    good = Path(__file__).parents[3] / "data" / "samples.csv"
    done = command("load", good, tmp_path / "empty.csv", "--data", tmp_path / "new", *more)
    assert done.code == 2
    assert not (tmp_path / "new").exists()
    absent = command(
        "load", good, "--topology", tmp_path / "absent.json", "--data", tmp_path / "new"
    )
    assert (absent.code, (tmp_path / "new").exists()) == (2, False)


def test_a_folder_that_is_given_is_filled_whatever_the_settings_say(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", "http://127.0.0.1:1/default")
    file = Path(__file__).parents[3] / "data" / "samples.csv"
    assert command("load", file, "--records-only", "--data", tmp_path / "store").code == 0
    assert (tmp_path / "store" / "chdb").is_dir()


def test_a_statement_that_is_refused_is_one_line(command: Command, tmp_path: Path) -> None:
    file = Path(__file__).parents[3] / "data" / "samples.csv"
    command("load", file, "--records-only", "--data", tmp_path / "store")
    done = command("sql", "SELECT * FROM file('/etc/passwd')", "--data", tmp_path / "store")
    assert (done.code, done.error_line) == (
        2, "skeletonhunter: function file may not be used here\n",
    )  # fmt: skip


def test_without_a_store_it_says_how_to_get_one(command: Command, tmp_path: Path) -> None:
    done = command("sql", "SELECT 1", "--data", tmp_path / "absent")
    assert done.code == 2
    done = command("load", tmp_path / "absent.csv", "--data", tmp_path / "store")
    assert (done.code, "absent.csv: No such file" in done.error_line) == (2, True)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with closing(open_store(f"chdb:{tmp_path_factory.mktemp('running') / 'chdb'}")) as opened:
        migrate.migrate(opened)
        yield opened


def test_while_it_runs_the_api_is_asked(command: Command, engine: Store, tmp_path: Path) -> None:
    with (
        closing(open_store(engine.name)) as own,
        served(engine, people_sql=ReadOnlySql(own)) as client,
        (tmp_path / "lock").open("a") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)  # as the embedded runtime does
        (tmp_path / URL_FILE).write_text(str(client.base_url))
        data = ("--data", tmp_path)
        assert command("sql", "SELECT 6 * 7 AS n", *data).out.splitlines()[2] == "42"
        route = f"{client.base_url}/api/v1/sql"  # as curl has it in docs/sql.md
        assert command("sql", "SELECT 1", "--url", route, "--format", "tsv").out == "1\n1\n"
        arrow = command("sql", "SELECT 1 FORMAT CSV", *data, "--format", "json")
        assert arrow.out == "1\n"
        refused = command("sql", "SELECT hostName()", *data)
        assert refused.code == 2
        assert "function hostName may not be used here" in refused.error_line
        in_use = command("load", Path(__file__), *data)
        assert "another `skeletonhunter up` uses it" in in_use.error_line


def test_an_api_without_sql_says_which_setting_switches_it_on(
    command: Command, engine: Store
) -> None:
    with served(engine) as client:
        done = command("sql", "SELECT 1", "--url", str(client.base_url))
    assert done.code == 2
    assert "SKH_API_SQL=true" in done.error_line


def test_an_api_that_does_not_answer_is_code_3(command: Command) -> None:
    done = command("sql", "SELECT 1", "--url", "http://127.0.0.1:9/")
    assert done.code == 3
    assert "127.0.0.1:9/: Connection refused; start `skeletonhunter up` there" in done.error_line
