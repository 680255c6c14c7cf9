"""``skeletonhunter config check``: the settings in effect, and every mistake in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from skeletonhunter import terminal
from skeletonhunter.commands.services import usable_url
from skeletonhunter.errors import BadInput, CommandError

if TYPE_CHECKING:
    from skeletonhunter.settings import Examined, Settings

Part = Literal["up", "stream", "sink", "api", "controller", "notify", "migrate"]
#: What a part cannot start without.
_NEEDS: Final[dict[str, tuple[Literal["kafka", "clickhouse"], ...]]] = {
    "up": (), "stream": ("kafka",), "sink": ("kafka", "clickhouse"), "api": ("clickhouse",),
    "controller": ("kafka",), "notify": ("kafka",), "migrate": ("clickhouse",),
}  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add ``config``."""
    config = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="The settings of this environment.",
        epilog="Example: skeletonhunter config check",
    )
    app.add_typer(config, name="config")

    @config.callback()
    def group() -> None:
        pass  # so that the group keeps its only command as a command

    config.command(epilog="Example: skeletonhunter config check --part stream")(check)


def check(
    part: Annotated[
        Part | None,
        typer.Option(
            help="Only what this part reads, and whether it could start. `demo` reads no setting."
        ),
    ] = None,
) -> int:
    """Print every setting in effect and where it is from; check values and the files they name.

    Secrets are not shown. One line on stderr for each mistake; exit code 2 if there is one.
    Neither Kafka nor ClickHouse is asked.
    """
    from skeletonhunter import settings

    found = settings.examine()
    for line in _lines(found, part):
        terminal.echo(line)
    for name in found.injected:
        terminal.echo(f"{name} is ignored: Kubernetes sets it for a Service")
    mistakes = [*found.mistakes, *_unusable(found.settings, part)]
    for mistake in mistakes:
        terminal.complain(mistake)
    return BadInput.code if mistakes else 0


def _lines(found: Examined, part: str | None) -> Iterator[str]:
    """``NAME = value (from)`` of each setting that the part reads."""
    from skeletonhunter.settings import PREFIX, Settings, is_secret

    for field, described in Settings.model_fields.items():
        extra = described.json_schema_extra
        if part is not None and isinstance(extra, dict) and part not in _commands(extra):
            continue
        value = getattr(found.settings, field)
        unset = field not in found.given
        if field in found.invalid:
            shown = "invalid"
        elif is_secret(field):
            shown = "none" if unset else "***"
        else:
            shown = "none" if value is None else str(value)
        yield f"{PREFIX}{field.upper()} = {shown} ({'default' if unset else 'environment'})"


def _commands(extra: dict[str, Any]) -> tuple[str, ...]:
    return tuple(extra["read_by"])


def _unusable(config: Settings, part: str | None) -> Iterator[str]:
    """A line for each value that a part could not use, although it has the right form."""
    for attempt in _attempts(config, part):
        try:
            yield from attempt() or ()
        except CommandError as why:
            yield str(why)


def _attempts(config: Settings, part: str | None) -> Iterator[Callable[[], list[str] | None]]:
    """What a part does with its settings before it connects; each raises CommandError."""
    if part is not None:
        yield lambda: config.require(*_NEEDS[part])
    if _reads(part, "kafka"):
        yield lambda: _kafka(config)
    if _reads(part, "sender_keys"):
        yield lambda: _senders(config, part)
    if _reads(part, "clickhouse_url") and config.clickhouse_url is not None:
        yield lambda: usable_url(config)
    if part == "up":
        yield lambda: _data(config.data)
    if _reads(part, "strategy"):
        yield lambda: _strategy(config)
    if _reads(part, "topology"):
        yield lambda: _topology(config)
    if _reads(part, "api_tokens"):
        yield lambda: _api(config)
    # `up` makes some where none are given
    if part == "controller" or (
        config.controller_tokens is not None and _reads(part, "controller_tokens")
    ):
        yield lambda: _controller(config)
    if _reads(part, "notify"):
        yield lambda: _notify(config.notify, needed=part == "notify")


def _reads(part: str | None, field: str) -> bool:
    from skeletonhunter.settings import Settings

    extra = Settings.model_fields[field].json_schema_extra
    return part is None or (isinstance(extra, dict) and part in _commands(extra))


def _kafka(config: Settings) -> None:
    from skeletonhunter.errors import BadSettings
    from streams.errors import UnusableKafkaOption
    from streams.kafka import security

    try:
        security.credentials(config.kafka_settings())
    except UnusableKafkaOption as why:
        raise BadSettings(f"SKH_KAFKA_OPTIONS: {why}") from why


def _senders(config: Settings, part: str | None) -> None:
    from schemas.kafka_client import is_loopback
    from skeletonhunter.errors import BadSettings
    from skeletonhunter.services.sender_keys import require_keys
    from streams.admission.sender_keys import KeyRingFile, SenderKeysError

    if config.kafka and part in ("stream", "sink") and not is_loopback(config.kafka):
        require_keys(config, config.kafka)
    if config.sender_keys is not None:
        try:
            KeyRingFile(config.sender_keys)
        except SenderKeysError as why:
            raise BadSettings(f"SKH_SENDER_KEYS: {why}") from why


def _data(directory: Path) -> None:
    """Of a directory that is not there yet, its nearest parent that is counts."""
    from skeletonhunter.errors import BadSettings

    place = next(
        each for each in (directory, *directory.absolute().parents) if os.path.exists(each)
    )
    if not place.is_dir():
        raise BadSettings(f"SKH_DATA: {place} is no directory; name one, or one to be made")
    if not os.access(place, os.W_OK | os.X_OK):
        raise BadSettings(f"SKH_DATA: {place} is not writable; name a directory that is")


def _strategy(config: Settings) -> None:
    from skeletonhunter.arguments import known_strategy

    known_strategy(config.strategy, "SKH_STRATEGY")


def _topology(config: Settings) -> None:
    from skeletonhunter.arguments import read_topology

    read_topology(config.topology)


def _api(config: Settings) -> None:
    from skeletonhunter.services.api_access import api_access

    api_access(config)


def _controller(config: Settings) -> None:
    from controller.service.tokens import TokenError, TokenFile

    try:
        TokenFile(config.require_tokens())
    except TokenError as why:
        raise BadInput(f"SKH_CONTROLLER_TOKENS: {why}") from why


def _notify(file: Path | None, *, needed: bool) -> list[str]:
    from notifier.configuration.reading import ConfigurationError, read

    if file is None:
        return ["SKH_NOTIFY must be set; docs/notify.md has an example"] if needed else []
    try:
        read(file, os.environ)
    except ConfigurationError as why:
        return [f"{file}: {mistake}" for mistake in why.mistakes]
    return []
