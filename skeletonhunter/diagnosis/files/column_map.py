"""Records with columns of other names and units -> ping records: --map and --columns."""

from __future__ import annotations

import csv
import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from schemas.wire.ping_columns import KNOWN, NUMBERS, TYPES
from skeletonhunter.errors import BadInput

_TIMES: Final = ("ping_time", "task_start_time")
_BOM: Final = "\ufeff"
_FORM: Final = 'write  ping_time = { from = "ts_ms", times = 1_000_000 }  or  src_ip = "source"'


@dataclass(frozen=True, slots=True)
class Source:
    """Where a column's values come from.

    column  of the input; None: ``value`` is that of every record
    times   factor to the unit of the ping record
    """

    column: str | None
    times: Decimal = Decimal(1)
    value: str | int | float | None = None


class ColumnMissing(BadInput):
    """Input lacks a column that is to be mapped; whoever knows the input's name adds it."""


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Column of the ping record -> where its values come from. Other columns keep their names."""

    sources: Mapping[str, Source]

    def check(self, names: Iterable[str]) -> None:
        """Refuse columns to map that are not there, among those that are; raises ColumnMissing.

        A column that is missing would be empty in every record: the map would do nothing.
        """
        known = [str(each) for each in names]
        for ours, source in self.sources.items():
            if source.column is not None and source.column not in known:
                near = difflib.get_close_matches(source.column, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known[:60])}"
                raise ColumnMissing(f"no column {source.column} to read {ours} from; {hint}")

    def scaled(self, ours: str, times: str) -> str:
        """The line of a --columns file that multiplies a column, by the name that files give it."""
        source = self.sources.get(ours)
        theirs = ours if source is None or source.column is None else source.column
        return f'{ours} = {{ from = "{theirs}", times = {times} }}'

    def unused(self, names: Iterable[str]) -> list[str]:
        """Those of a file's columns that neither the map nor a ping record has, in order."""
        taken = {source.column for source in self.sources.values()}
        return [name for name in names if name not in taken and name not in KNOWN]

    def row(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A record's values by the names of ping records."""
        taken = {source.column for source in self.sources.values()}
        found = {k: v for k, v in given.items() if k not in taken and k not in self.sources}
        for name, source in self.sources.items():
            value = source.value if source.column is None else given.get(source.column)
            found[name] = _converted(value, name, source.times)
        return found

    def json_lines(self, lines: Iterable[bytes]) -> bytes:
        """NDJSON with the values mapped, line by line; a line that is no object stays as it is."""
        return b"\n".join(map(self._json_line, lines)) + b"\n"

    def csv_lines(
        self, header: bytes, lines: Iterable[bytes]
    ) -> tuple[bytes, list[tuple[int, str]]]:
        """Lines of CSV as NDJSON, line by line; and (line from 0, reason) of those that are wrong,
        which are empty there. Raises ColumnMissing."""
        names = csv_names(header)
        self.check(names)
        wrong: list[tuple[int, str]] = []
        mapped: list[bytes] = []
        for number, line in enumerate(lines):
            fields = _fields(line)
            if len(fields) == len(names):
                mapped.append(msgspec.json.encode(self.row(dict(zip(names, fields, strict=True)))))
                continue
            mapped.append(b"")
            if line.strip():
                wrong.append((number, f"{len(fields)} fields where the header has {len(names)}"))
        return b"\n".join(mapped) + b"\n", wrong

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Columns in memory, mapped; raises ColumnMissing."""
        self.check(batch.schema.names)
        taken = {source.column for source in self.sources.values()}
        columns = {
            name: values
            for name, values in zip(batch.schema.names, batch.columns, strict=True)
            if name not in taken and name not in self.sources
        }
        for name, source in self.sources.items():
            index = -1 if source.column is None else batch.schema.get_field_index(source.column)
            if source.column is None:
                columns[name] = pa.array([source.value] * batch.num_rows)
            elif index >= 0:
                columns[name] = _mapped(batch.column(index), name, source.times)
        return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))

    def _json_line(self, line: bytes) -> bytes:
        if not line.strip():
            return b""
        try:
            return msgspec.json.encode(self.row(msgspec.json.decode(line, type=dict[str, Any])))
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return line.rstrip(b"\r\n")


#: The columns have the names and units of ping records.
UNMAPPED: Final = ColumnMap({})


def read(path: Path | None, pairs: Iterable[str] = ()) -> ColumnMap | None:
    """The map of a TOML file and of ``theirs=ours`` pairs; None without any; raises BadInput."""
    sources: dict[str, Source] = {}
    if path is not None:
        try:
            table = tomllib.loads(path.read_text())
        except OSError as why:
            raise BadInput(f"--columns {path}: {why.strerror}") from why
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as why:
            raise BadInput(f"--columns {path}: not TOML: {why}") from why
        for name, given in table.items():
            sources[name] = _source(given, f"--columns {path}: {name}")
    for pair in pairs:
        theirs, equals, ours = pair.rpartition("=")
        if not equals or not theirs or not ours:
            raise BadInput(f"--map {pair}: write THEIRS=OURS, as in rtt_us=latency")
        sources[ours] = Source(theirs)
    for name in sources:
        if name not in TYPES:
            near = difflib.get_close_matches(name, TYPES, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise BadInput(
                f"{name} is no column of a ping record{hint} (schemas/documents/ping.py has them)"
            )
    return ColumnMap(sources) if sources else None


def csv_names(header: bytes) -> list[str]:
    """Names in the header line of a CSV file that is mapped."""
    return [each.strip() for each in next(csv.reader([_text(header).lstrip(_BOM)]), [])]


def _source(given: object, where: str) -> Source:
    if isinstance(given, str):
        return Source(given)
    if isinstance(given, dict) and given.keys() == {"value"}:
        value = given["value"]
        if isinstance(value, str | int | float):
            return Source(None, value=value)
    if isinstance(given, dict) and isinstance(given.get("from"), str):
        times = given.get("times", 1)
        if given.keys() <= {"from", "times"} and isinstance(times, int | float) and times > 0:
            return Source(given["from"], Decimal(str(times)))
    raise BadInput(f'{where}: {_FORM}  or  agent_type = {{ value = "underlay" }}')


def _converted(value: Any, name: str, times: Decimal) -> Any:
    """The value in the record's unit; what cannot be read stays, so that its row is named."""
    if name not in NUMBERS or value is None or value == "":
        return value
    if name in _TIMES and isinstance(value, datetime):
        return _epoch_ns(value)
    try:
        number = Decimal(str(value).strip()) * times
    except InvalidOperation:
        return _time(value) if name in _TIMES else value
    if not number.is_finite():
        return None if number.is_nan() else value
    return int(number) if pa.types.is_integer(TYPES[name]) else float(number)


def _mapped(values: pa.Array, name: str, times: Decimal) -> pa.Array:
    """A column in the record's unit; as it is where it is in that already."""
    if times == 1 and not (name in _TIMES and pa.types.is_string(values.type)):
        return values
    return _array([_converted(value, name, times) for value in values.to_pylist()], name)


def _time(value: Any) -> Any:
    """Nanoseconds of an ISO 8601 time, of UTC where it names no zone."""
    try:
        return _epoch_ns(datetime.fromisoformat(str(value).strip()))
    except ValueError:
        return value


def _epoch_ns(time: datetime) -> int:
    zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
    spent = zoned - datetime(1970, 1, 1, tzinfo=UTC)
    return ((spent.days * 86_400 + spent.seconds) * 1_000_000 + spent.microseconds) * 1000


def _array(values: list[Any], name: str) -> pa.Array:
    try:
        return pa.array(values, TYPES.get(name))
    except (pa.ArrowException, OverflowError):
        return pa.array([None if v is None else str(v) for v in values], pa.string())


def _fields(line: bytes) -> list[str]:
    try:
        return next(csv.reader([_text(line)], strict=True), [])
    except csv.Error:
        return []


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")
