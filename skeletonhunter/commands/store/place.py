"""Where the rows are: behind an API that runs, in a ClickHouse server, or in a folder."""

from __future__ import annotations

import fcntl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import msgspec

from skeletonhunter.errors import BadInput, DependencyUnreachable, DirectoryInUse
from skeletonhunter.settings import Settings

if TYPE_CHECKING:
    from store.client import Store

_ROUTE: Final = "/api/v1/sql"
_WAIT_S: Final = 60.0
_MOST_BYTES: Final = 256 * 1024 * 1024


def running_api(config: Settings, data: Path | None) -> str | None:
    """Address of the API to ask; None: a store is opened here.

    data  folder that is given on the command line: its API, if ``up`` or ``demo`` has it. None:
          that of the settings' folder, or the one on the usual port; if SQL is off there, only
          where there is no store beside it
    """
    if data is not None:
        return _api_of(data)
    address, has_other = _api_of(config.data), config.clickhouse_url is not None
    if address is None:
        address = f"http://127.0.0.1:{config.api_port}/"
        has_other = has_other or (config.data / "chdb").exists()
        if not _answers(address):
            return None
    return None if has_other and not _has_sql(address) else address


def _api_of(folder: Path) -> str | None:
    """Address of the API of the embedded runtime that holds the folder."""
    from skeletonhunter.embedded.runtime import URL_FILE

    if _is_used(folder):
        with suppress(OSError):
            return (folder / URL_FILE).read_text().strip()
    return None


@contextmanager
def own_store(config: Settings, data: Path | None, *, create: bool = False) -> Iterator[Store]:
    """The store itself: of ``data``, else SKH_CLICKHOUSE_URL, else the folder of the settings.

    data    folder that is given on the command line
    create  make the folder's store, where it is missing
    Raises BadInput, DirectoryInUse.
    """
    from store.client import BadStoreUrl, StoreRefused, open_store
    from store.migrate import MigrationError

    try:
        if data is None and config.clickhouse_url is not None:
            with closing(open_store(config.require_clickhouse())) as server:
                yield server
        else:
            folder = data or config.data
            if not create and not (folder / "chdb").exists():
                raise BadInput(
                    f"{folder}: there is no store; `skeletonhunter up` or `skeletonhunter load` "
                    f"makes one{'' if data else ', or set SKH_CLICKHOUSE_URL'}"
                )
            with _own_folder(folder) as at, closing(open_store(at)) as embedded:
                yield embedded
    except BadStoreUrl as why:
        raise BadInput(f"SKH_CLICKHOUSE_URL: {why}") from why
    except (StoreRefused, MigrationError) as why:
        raise BadInput(str(why)) from why


def check_folder(config: Settings, data: Path | None) -> None:
    """Raise what ``own_store`` with ``create`` would, without making anything: BadInput."""
    if data is None and config.clickhouse_url is not None:
        return
    folder = data or config.data
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: a file; give the folder of a store, or a new one")
    if _is_used(folder):
        raise DirectoryInUse(folder)


@contextmanager
def _own_folder(data: Path) -> Iterator[str]:
    """The URL of a folder's store, which no other process uses meanwhile."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (data / "lock").open("a")
    except OSError as why:
        raise BadInput(f"{data}: {why.strerror or why}; give another folder") from why
    with lock:
        if not _locked(lock):
            raise DirectoryInUse(data)
        yield f"chdb:{data / 'chdb'}"


def ask_api(url: str, sql: str, parameters: Mapping[str, str], form: str) -> bytes:
    """Rows of a statement through an API; raises BadInput, DependencyUnreachable."""
    given = {"default_format": form, **{f"param_{k}": v for k, v in parameters.items()}}
    base = url.rstrip("/").removesuffix(_ROUTE)  # docs/sql.md has the whole address for curl
    address = f"{base}{_ROUTE}?{urllib.parse.urlencode(given)}"
    if not address.startswith(("http://", "https://")):
        raise BadInput(f"{url} is no address of an API; write http://HOST:PORT/")
    request = urllib.request.Request(  # noqa: S310  # the scheme was checked
        address, sql.encode(), {"Content-Type": "text/plain; charset=utf-8"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_WAIT_S) as answer:  # noqa: S310  # as above
            rows: bytes = answer.read(_MOST_BYTES)
            return rows
    except urllib.error.HTTPError as why:
        detail = _detail(why.read(64 * 1024)) or f"status {why.code}"
        if why.code == 503:
            raise DependencyUnreachable(f"{url}: {detail}") from why
        raise BadInput(f"{url}: {detail}") from why
    except OSError as why:
        reason = getattr(why, "reason", None) or why
        text = getattr(reason, "strerror", None) or reason
        raise DependencyUnreachable(
            f"{url}: {text}; start `skeletonhunter up` there, or give another address"
        ) from why


def _is_used(data: Path) -> bool:
    """Whether an embedded runtime holds the folder."""
    try:
        with (data / "lock").open("r+") as lock:  # made by who uses it, not by who asks
            return not _locked(lock)
    except OSError:
        return False


def _locked(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}healthz", timeout=2) as answer:  # noqa: S310  # loopback
            return bool(answer.status == 200)
    except OSError:
        return False


def _has_sql(url: str) -> bool:
    try:
        ask_api(url, "SELECT 1", {}, "TabSeparated")
    except (BadInput, DependencyUnreachable):
        return False
    return True


def _detail(body: bytes) -> str:
    try:
        return str(msgspec.json.decode(body, type=dict[str, object]).get("detail", ""))
    except (msgspec.MsgspecError, UnicodeError):
        return ""
