"""Files of a kind that is not read are refused by name, with what to do."""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
from pathlib import Path

import pytest
from builders.command_line import Command

from testbed.simulator.files import Written


def zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("pings.csv", data)
    return out.getvalue()


def utf16(data: bytes) -> bytes:
    return data.decode().encode("utf-16")


@pytest.mark.parametrize(
    ("made", "kind", "remedy"),
    [
        (zipped, "a ZIP archive, or a workbook", "unpack it"),
        (bz2.compress, "compressed by bzip2", "bunzip2"),
        (lzma.compress, "compressed by xz", "unxz"),
        (utf16, "UTF-16 text", "iconv -f UTF-16 -t UTF-8"),
        (lambda data: b"ORC" + data, "an ORC file", "Parquet"),
    ],
)
def test_the_line_names_the_kind_and_the_remedy(
    command: Command, small: Written, tmp_path: Path, made: type[bytes], kind: str, remedy: str
) -> None:
    file = tmp_path / "pings"
    file.write_bytes(made(small.pings.read_bytes()))
    done = command("diagnose", file)
    assert (done.code, done.out) == (2, "")
    assert f"{file}: this is {kind}" in done.error_line
    assert remedy in done.error_line


def test_csv_whose_lines_end_in_a_carriage_return_alone_is_refused(
    command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "pings.csv"
    file.write_bytes(b"src_ip,dst_ip,latency\r10.0.0.1,10.0.0.2,12\r10.0.0.1,10.0.0.3,12\r")
    done = command("diagnose", file)
    assert done.code == 2
    assert "lines end in a carriage return (CR) alone; convert it: tr" in done.error_line


def test_csv_of_windows_is_read(command: Command, tmp_path: Path) -> None:
    rows = Path("tests/data/samples.csv").read_bytes()
    file = tmp_path / "pings.csv"
    file.write_bytes(rows.replace(b"\n", b"\r\n"))
    plain, windows = command("diagnose", "tests/data/samples.csv"), command("diagnose", file)
    assert (windows.code, windows.err) == (plain.code, plain.err)
