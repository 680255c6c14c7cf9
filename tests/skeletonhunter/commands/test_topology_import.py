"""``skeletonhunter topology import``: files in, the document or every mistake out."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.command_line import Command
from builders.controller import inventory_exports as exports

from schemas.documents.topology import load
from testbed.topologies import clos


@pytest.fixture
def files(tmp_path: Path) -> Path:
    topology = clos.build(clos.ClosSpec(name="f1", hosts=8, hosts_per_segment=4), 5)
    for name, raw in [*exports.lldp(topology), *exports.cable_list(topology),
                      *exports.hosts_file(topology)]:  # fmt: skip
        (tmp_path / name).write_bytes(raw)
    return tmp_path


def test_the_document_is_written_and_can_be_read(command: Command, files: Path) -> None:
    out = files / "out" / "topology.json"
    out.parent.mkdir()
    done = command(
        "topology", "import", "--from", "csv", files / "cables.csv", "--hosts",
        files / "hosts.csv", "--fabric", "f1", "--out", out,
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("8 hosts, 32 rnics, 20 switches, 64 links\n")
    assert len(load(out).links) == 64


def test_files_of_another_format_are_added_by_its_name(command: Command, files: Path) -> None:
    lldp = list(files.glob("*.json"))
    done = command(
        "topology", "import", "--from", "lldp", *lldp, f"csv={files / 'cables.csv'}", "--hosts",
        files / "hosts.csv",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert '"fabric": "default"' in done.out


def test_each_mistake_is_a_line_and_nothing_is_written(command: Command, files: Path) -> None:
    (files / "bad.csv").write_text("a_device,a_port,b_device,b_port\nx,,y,1\nx,1,,\n")
    out = files / "topology.out"
    done = command("topology", "import", "--from", "csv", files / "bad.csv", "--out", out)
    assert done.code == 2
    assert done.err.splitlines() == [
        f"{files}/bad.csv:2: no a_port; complete or remove the row",
        f"{files}/bad.csv:3: no b_device, b_port; complete or remove the row",
        "skeletonhunter: 2 mistakes; no document is written",
    ]
    assert not out.exists()


@pytest.mark.parametrize(("arguments", "line"), [
    (["--from", "visio", "x"], "--from visio: choose one of lldp, ibnetdiscover, netbox, sonic"),
    (["--from", "csv", "/nowhere.csv"], "/nowhere.csv: No such file or directory; give a readable"),
    (["--from", "csv", "x", "--tier", "s1=top"], "--tier s1=top: write NAME=asw|psw|dsw"),
])  # fmt: skip
def test_wrong_usage_is_one_line(command: Command, arguments: list[str], line: str) -> None:
    done = command("topology", "import", *arguments)
    assert done.code == 2
    assert line in done.error_line
