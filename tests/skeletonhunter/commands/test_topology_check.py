"""``skeletonhunter topology check``: a document against traceroutes in files."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from builders.command_line import Command
from builders.controller.traced_fabrics import clos_fabric, relinked, traces

from schemas.documents.topology import Topology

REAL = clos_fabric()
LINK = REAL.links[0]
TIME_NS = 1_780_000_000_000_000_000


def write_records(path: Path, fabric: str = "f1", task_type: str = "TRACEROUTE") -> Path:
    """NDJSON as agents write it."""
    rows = [
        {
            "agent_type": "underlay", "task_type": task_type, "dial": "success",
            "src_idc": fabric, "src_ip": each.five_tuple.src_ip, "dst_ip": each.five_tuple.dst_ip,
            "src_port": each.five_tuple.src_port, "dst_port": each.five_tuple.dst_port,
            "src_real_ip": each.src_rnic, "dst_real_ip": each.dst_rnic, "ping_time": TIME_NS + n,
            "route": json.dumps(each.hops),
        }
        for n, each in enumerate(traces(REAL, 4))
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return write_records(tmp_path / "pings.ndjson")


def saved(tmp_path: Path, topology: Topology) -> Path:
    path = tmp_path / "topology.json"
    path.write_bytes(msgspec.json.encode(topology))
    return path


def test_a_document_that_is_right_has_exit_code_0(
    command: Command, tmp_path: Path, records: Path
) -> None:
    document = saved(tmp_path, REAL)
    done = command("topology", "check", "--topology", document, "--traceroutes", records)
    assert (done.code, done.out) == (0, "")
    assert done.error_line == (
        f"2112 traceroutes; of {len(REAL.links)} links between switches {len(REAL.links)} seen, "
        "0 not seen and too few five-tuples to tell; 0 contradictions\n"
    )


def test_a_contradiction_is_named_with_its_evidence_and_exit_code_1(
    command: Command, tmp_path: Path, records: Path
) -> None:
    document = saved(tmp_path, relinked(REAL, (LINK, None)))
    done = command("topology", "check", "--topology", document, "--traceroutes", records)
    assert done.code == 1
    first, example = done.out.splitlines()
    assert first.startswith(f"unlisted link: {' - '.join(sorted(LINK))}: not in the document, but ")
    assert " by " in example


def test_json_has_a_contradiction_a_line(command: Command, tmp_path: Path, records: Path) -> None:
    document = saved(tmp_path, relinked(REAL, (LINK, None)))
    done = command(
        "topology", "check", "--topology", document, "--traceroutes", records, "--format", "json"
    )
    (row,) = map(json.loads, done.out.splitlines())
    assert (row["kind"], row["subject"]) == ("unlisted link", sorted(LINK))
    assert row["traces"] >= 2


@pytest.mark.parametrize("how", [{"fabric": "f2"}, {"task_type": "UDP_PING"}])
def test_without_a_traceroute_of_the_fabric_there_is_no_answer(
    command: Command, tmp_path: Path, how: dict[str, str]
) -> None:
    other = write_records(tmp_path / "other.ndjson", **how)
    document = saved(tmp_path, REAL)
    done = command("topology", "check", "--topology", document, "--traceroutes", other)
    assert done.code == 2
    assert "no traceroute of fabric f1" in done.err
