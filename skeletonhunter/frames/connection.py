"""What is stored, as frames: through an API that answers SQL, or from ClickHouse itself."""

from __future__ import annotations

import io
from pathlib import Path
from types import TracebackType
from typing import Any, Final
from urllib.parse import urlsplit

import pandas as pd
import pyarrow as pa

from schemas.documents.incident import decode_incident
from skeletonhunter.commands.store.place import ask_api
from skeletonhunter.errors import BadInput
from skeletonhunter.frames.incidents import frame_of
from store.client import BadStoreUrl, Store, open_store
from store.read_only import ReadLimits, ReadOnlySql, SqlRefused

#: Limits of one statement on a store itself: an analyst asks for more than a page.
LIMITS: Final = ReadLimits(seconds=60, result_rows=10_000_000, result_bytes=2**31 - 1)
_WINDOWS: Final = """
SELECT w.* FROM path_windows_latest AS w
WHERE w.window_start >= {since:DateTime} AND w.window_start < {until:DateTime}
  AND ({host:String} = '' OR w.src_node_sn = {host:String} OR w.dst_node_sn = {host:String})
ORDER BY w.window_start, w.path_id
"""
_OF_JOB: Final = " AND job = {job:String} "
_JOB_WINDOWS: Final = _WINDOWS.replace("path_windows_latest", "job_path_windows").replace(
    "\nORDER", f"{_OF_JOB}\nORDER"
)
_THROUGHPUT: Final = """
SELECT t.* FROM throughput_minutes AS t
WHERE t.minute >= {since:DateTime} AND t.minute < {until:DateTime}
  AND ({host:String} = '' OR t.node_sn = {host:String})
ORDER BY t.minute, t.fabric, t.real_ip
"""
_JOB_THROUGHPUT: Final = _THROUGHPUT.replace(
    "throughput_minutes", "job_throughput_minutes"
).replace("\nORDER", f"{_OF_JOB}\nORDER")
_INCIDENTS: Final = """
SELECT document FROM incidents_latest
WHERE opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
ORDER BY opened_at, incident_id
"""
_BEGIN, _END = "1970-01-02", "2105-01-01"


class Connection:
    """Asks for frames; close it, or use it in ``with``. Made by ``connect``."""

    def __init__(self, url: str, store: Store | None) -> None:
        self._url = url
        self._store = store
        self._sql = None if store is None else ReadOnlySql(store, LIMITS)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the store, if it was opened."""
        if self._store is not None:
            self._store.close()

    def sql(self, statement: str, **parameters: Any) -> pd.DataFrame:
        """Rows of one SELECT (docs/sql.md); ``{name:Type}`` in it are the parameters.

        Raises BadInput for a statement that cannot run.
        """
        given = {name: str(value) for name, value in parameters.items()}
        if self._sql is None:
            raw = ask_api(self._url, statement, given, "ArrowStream")
        else:
            try:
                raw, _ = self._sql.query(statement, given, "ArrowStream")
            except SqlRefused as why:
                raise BadInput(str(why)) from why
        if not raw:
            return pd.DataFrame()
        with pa.ipc.open_stream(io.BytesIO(raw)) as reader:
            frame: pd.DataFrame = reader.read_all().to_pandas()
        return frame

    def incidents(self, since: Any = _BEGIN, until: Any = _END) -> pd.DataFrame:
        """Incidents that opened in a time, each in its last version; columns as of ``to_frame``."""
        rows = self.sql(_INCIDENTS, since=_time(since), until=_time(until))
        documents = [] if rows.empty else rows["document"].tolist()
        return frame_of([
            decode_incident(each if isinstance(each, bytes) else each.encode())
            for each in documents
        ])  # fmt: skip

    def windows(
        self, since: Any, until: Any = _END, *, host: str = "", job: str = ""
    ) -> pd.DataFrame:
        """Windows of 30 s of each path, one each 5 s, so sums over them count a probe six times.

        host  only paths from or to it
        job   only paths of this training job, with the rails of their rnics
        """
        return self._part(_JOB_WINDOWS if job else _WINDOWS, since, until, host, job)

    def throughput(
        self, since: Any, until: Any = _END, *, host: str = "", job: str = ""
    ) -> pd.DataFrame:
        """Bytes per second of each rnic, one row for each minute.

        host  only its rnics
        job   only those of this training job, while it used them, with their rails
        """
        return self._part(_JOB_THROUGHPUT if job else _THROUGHPUT, since, until, host, job)

    def _part(self, statement: str, since: Any, until: Any, host: str, job: str) -> pd.DataFrame:
        given = {"since": _time(since), "until": _time(until), "host": host}
        return self.sql(statement, **given, **({"job": job} if job else {}))


def connect(url: str = "http://127.0.0.1:8765/") -> Connection:
    """Connect to what is stored.

    url  ``http://HOST:PORT/`` of an API that answers SQL (``demo`` does, ``up`` with
         SKH_API_SQL=true); ``http(s)://user:password@HOST:8123/DATABASE`` of ClickHouse; or
         ``chdb:FOLDER/chdb`` of a folder of ``up`` or ``load`` that nothing else uses
    Raises BadInput, StoreError.
    """
    parts = urlsplit(url)
    if parts.scheme in ("http", "https") and parts.path in ("", "/"):
        return Connection(url, None)
    folder = url.removeprefix("chdb:")
    if folder != url and not Path(folder).is_dir():  # the engine would make an empty store
        raise BadInput(f"{folder}: there is no store; give the folder chdb within one of `load`")
    try:
        return Connection(url, open_store(url))
    except BadStoreUrl as why:
        raise BadInput(str(why)) from why


def _time(value: Any) -> str:
    """A time as ClickHouse reads it; UTC where it names no zone."""
    try:
        time = pd.Timestamp(value)
    except (ValueError, TypeError, OverflowError):
        time = pd.NaT
    if time is pd.NaT:
        raise BadInput(f"{value!r}: no time; write '2026-01-31 12:00' or give a datetime")
    utc = time.tz_localize("UTC") if time.tzinfo is None else time.tz_convert("UTC")
    return str(utc.strftime("%Y-%m-%d %H:%M:%S"))
