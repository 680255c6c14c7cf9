"""Reads a configuration file; all mistakes at once, one line each."""

from __future__ import annotations

import difflib
import ssl
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import TypeAdapter, ValidationError

from notifier.configuration.document import (
    Channel,
    Configuration,
    Target,
    Watchdog,
    check_url,
    known_names,
)
from notifier.configuration.secrets import SecretError, resolve

_MAX_BYTES: Final = 1024 * 1024
_CHANNEL: Final[TypeAdapter[Target]] = TypeAdapter(Channel)
_WATCHDOG: Final[TypeAdapter[Target]] = TypeAdapter(Watchdog)


class ConfigurationError(ValueError):
    """The file cannot be used; ``mistakes`` has a line for each reason, without the path."""

    def __init__(self, path: Path, mistakes: list[str]) -> None:
        super().__init__(f"{path}: {'; '.join(mistakes)}")
        self.path = path
        self.mistakes = mistakes


def read(path: Path, environ: Mapping[str, str]) -> Configuration:
    """Read and check; with secrets resolved, so that it can be used. Raises ConfigurationError."""
    found = _parsed(path)
    try:
        configuration = Configuration.model_validate(found)
    except ValidationError as why:
        # What can be read in spite of them is checked too, so that one run shows all mistakes.
        mistakes = [
            *sorted(set(_mistakes(why))),
            *_dangling(_channel_names(found), _destinations(found)),
            *_unusable(_readable_targets(found), environ),
        ]
        raise ConfigurationError(path, mistakes) from None
    names = list(configuration.channels)
    mistakes = [
        *_dangling(names, [route.to for route in configuration.routes]),
        *_unusable(_targets(configuration), environ),
    ]
    if mistakes:
        raise ConfigurationError(path, mistakes)
    return configuration


def _parsed(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except OSError as why:
        raise ConfigurationError(path, [f"{why.strerror}; give a readable file"]) from why
    if len(raw) > _MAX_BYTES:
        raise ConfigurationError(path, [f"longer than {_MAX_BYTES} B; is it the right file?"])
    try:
        text = raw.decode()
        if path.suffix == ".toml":
            found: Any = tomllib.loads(text)
        else:
            found = yaml.load(text, _Loader)  # noqa: S506 — a safe one
    except (ValueError, RecursionError, yaml.YAMLError) as why:
        where = getattr(why, "problem_mark", None)
        problem = getattr(why, "problem", None) or str(why)
        line = f"line {where.line + 1}: " if where is not None else ""
        raise ConfigurationError(path, [f"{line}{' '.join(str(problem).split())[:200]}"]) from None
    if not isinstance(found, dict):
        raise ConfigurationError(path, ["holds no settings; it needs `channels` and `routes`"])
    return found


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
    """Refuses a name that occurs twice, of which YAML would silently take the last, and anchors,
    of which a few lines make a document that fills the memory.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.constructor.ConstructorError(None, None, "aliases are not supported", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[Any] = set()
        for key, _ in node.value:
            if key.value in seen:
                problem = f"{key.value!r} is there twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _mistakes(why: ValidationError) -> Iterator[str]:
    errors = why.errors(include_url=False, include_input=False)
    # pydantic counts valid items only: a list of which all items are wrong is "too short" as well.
    holds_wrong = {tuple(each["loc"])[:n] for each in errors for n in range(len(each["loc"]))}
    for each in errors:
        path = tuple(each["loc"])
        if each["type"] == "too_short" and path in holds_wrong:
            continue
        message = each["msg"].removeprefix("Value error, ")
        if each["type"] == "extra_forbidden":
            known = known_names(path[:-1])
            near = difflib.get_close_matches(str(path[-1]), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            message = f"is not known; {hint}"
        elif each["type"] == "missing":
            message = "is missing"
        elif each["type"] in ("tuple_type", "dict_type", "model_type"):
            message = f"must be a {'list' if each['type'] == 'tuple_type' else 'table'}"
        elif each["type"] == "too_short":
            message = "must not be empty"
        elif each["type"].startswith("union_tag"):
            message = "kind must be slack, pagerduty, alertmanager or webhook"
        yield f"{_shown(path)}: {message[:1].lower()}{message[1:]}"


def _shown(path: tuple[Any, ...]) -> str:
    """channels.on-call.url, routes[0].to; without the name of the union's member."""
    if len(path) > 2 and path[0] == "channels":
        path = (*path[:2], *path[3:])
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".").replace(".[key]", "") or "the file"


def _channel_names(found: dict[str, Any]) -> list[str]:
    """Names of the channels of a file with mistakes; empty: they are not readable."""
    channels = found.get("channels")
    return [str(name) for name in channels] if isinstance(channels, dict) else []


def _destinations(found: dict[str, Any]) -> list[Sequence[str] | None] | None:
    """``to`` of each route of a file with mistakes; None for what is not readable."""
    routes = found.get("routes")
    if not isinstance(routes, list):
        return None
    out: list[Sequence[str] | None] = []
    for route in routes:
        to = route.get("to") if isinstance(route, dict) else None
        readable = isinstance(to, list) and all(isinstance(name, str) for name in to)
        out.append(to if readable else None)
    return out


def _dangling(channels: Sequence[str], to: Sequence[Sequence[str] | None] | None) -> Iterator[str]:
    """Routes to channels that are not there, and channels without a route.

    channels  names; nothing is said where there are none, nor where there is no route
    to        names for each route; None: not readable
    """
    if not channels or not to:
        return
    for number, names in enumerate(to):
        for name in names or ():
            if name not in channels:
                yield f"routes[{number}].to: no channel {name!r}; there are {', '.join(channels)}"
    if any(names is None for names in to):
        return
    used = {name for names in to for name in names or ()}
    for name in channels:
        if name not in used:
            yield f"channels.{name}: no route leads to it"


def _targets(configuration: Configuration) -> Iterator[tuple[str, Target]]:
    """Where each is in the file, and what is asked there."""
    for name, channel in configuration.channels.items():
        yield f"channels.{name}", channel
    if configuration.watchdog is not None:
        yield "watchdog", configuration.watchdog


def _readable_targets(found: dict[str, Any]) -> Iterator[tuple[str, Target]]:
    """The same of a file with mistakes: those that are right by themselves."""
    channels = found.get("channels")
    given = [
        (f"channels.{name}", _CHANNEL, value)
        for name, value in (channels.items() if isinstance(channels, dict) else ())
    ]
    for where, kind, value in (*given, ("watchdog", _WATCHDOG, found.get("watchdog"))):
        with suppress(ValidationError):
            yield where, kind.validate_python(value)


def _unusable(targets: Iterable[tuple[str, Target]], environ: Mapping[str, str]) -> Iterator[str]:
    for where, target in targets:
        for field in ("url", "routing_key", "secret", "proxy"):
            reference = getattr(target, field, None)
            if reference is None:
                continue
            try:
                value = resolve(reference, environ)
                if field == "url":
                    check_url(value, allow_http=target.allow_http)
                elif field == "proxy":
                    check_url(value, allow_http=True)
            except (SecretError, ValueError) as why:
                yield f"{where}.{field}: {why}"
        if target.ca_file is not None:
            try:
                ssl.create_default_context(cafile=str(target.ca_file))
            except ssl.SSLError:
                yield f"{where}.ca_file: {target.ca_file} holds no certificate"
            except OSError as why:
                yield f"{where}.ca_file: {target.ca_file}: {why.strerror}"
        if isinstance(target, Watchdog) and target.every_s > target.behind_s:
            yield f"{where}.every_s: is longer than behind_s, {target.behind_s:g} s"
