"""What is read of a host's huge pages, and what its kernel was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from probers.requests.host_facts import HostFacts
from probers.requests.huge_pages import HugePages, asked_at_boot


def pool(folder: Path, size: str, **files: int) -> None:
    (folder / size).mkdir(parents=True, exist_ok=True)
    for name, count in files.items():
        (folder / size / name).write_text(f"{count}\n")


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("quiet hugepagesz=1G hugepages=16 hugepagesz=2M hugepages=512",
         {"hugepages-1048576kB": 16, "hugepages-2048kB": 512}),
        ("default_hugepagesz=1G hugepages=8", {"hugepages-1048576kB": 8}),
        ("hugepagesz=2M hugepages=0:100,1:28", {"hugepages-2048kB": 128}),
        ("hugepages=64", {}),
        ("hugepagesz=2M hugepages=many", {}),
        ("hugepagesz=huge hugepages=3", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_the_command_line_asks_for_pages_by_size(line: str, asked: dict[str, int]) -> None:
    assert asked_at_boot(line) == asked


def test_pools_are_read_beside_what_was_asked_for_and_what_there_was(tmp_path: Path) -> None:
    folder, line = tmp_path / "hugepages", tmp_path / "cmdline"
    line.write_text("hugepagesz=1G hugepages=4\n")
    pool(folder, "hugepages-1048576kB", nr_hugepages=3, free_hugepages=1, resv_hugepages=0)
    pool(folder, "hugepages-2048kB", nr_hugepages=0, free_hugepages=0)
    pages = HugePages(folder, line)
    pool(folder, "hugepages-1048576kB", nr_hugepages=1, free_hugepages=0)
    assert pages.values() == {
        "hugepages-1048576kB/nr_hugepages": 1,
        "hugepages-1048576kB/free_hugepages": 0,
        "hugepages-1048576kB/resv_hugepages": 0,
        "hugepages-1048576kB/boot": 4,
        "hugepages-1048576kB/at_start": 3,
    }


def test_a_host_that_has_none_and_wants_none_has_no_values(tmp_path: Path) -> None:
    pool(tmp_path, "hugepages-2048kB", nr_hugepages=0, free_hugepages=0)
    assert HugePages(tmp_path, tmp_path / "none").values() == {}
    assert HugePages(tmp_path / "nowhere", tmp_path / "none").values() == {}


def test_huge_pages_are_a_device_among_the_counters_of_a_host(tmp_path: Path) -> None:
    folder = tmp_path / "kernel/mm/hugepages"
    pool(folder, "hugepages-2048kB", nr_hugepages=8)
    (found,) = HostFacts(root=tmp_path / "class").counters()
    assert (found.device, found.rnic) == ("hugepages", "")
    assert found.values["hugepages-2048kB/nr_hugepages"] == 8
