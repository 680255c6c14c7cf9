"""Reads a configuration file; all mistakes at once, one line each."""

from __future__ import annotations

import difflib
import ssl
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from notifier.configuration.document import Configuration, Watchdog, check_url, known_names
from notifier.configuration.secrets import SecretError, resolve

_MAX_BYTES: Final = 1024 * 1024


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
        raise ConfigurationError(path, sorted(set(_mistakes(why)))) from None
    if mistakes := [*_dangling(configuration), *_unusable(configuration, environ)]:
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
    for each in why.errors(include_url=False, include_input=False):
        path = tuple(each["loc"])
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


def _dangling(configuration: Configuration) -> Iterator[str]:
    used = set()
    for number, route in enumerate(configuration.routes):
        for name in route.to:
            used.add(name)
            if name not in configuration.channels:
                known = ", ".join(configuration.channels)
                yield f"routes[{number}].to: no channel {name!r}; there are {known}"
    for name in configuration.channels.keys() - used:
        yield f"channels.{name}: no route leads to it"


def _unusable(configuration: Configuration, environ: Mapping[str, str]) -> Iterator[str]:
    targets: list[tuple[str, Any]] = [
        (f"channels.{name}", channel) for name, channel in configuration.channels.items()
    ]
    if configuration.watchdog is not None:
        targets.append(("watchdog", configuration.watchdog))
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
