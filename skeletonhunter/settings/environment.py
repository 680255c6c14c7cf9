"""Reads the SKH_* variables: mistakes with variable, reason and remedy; no value of a secret."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from skeletonhunter import kubernetes
from skeletonhunter.errors import BadSettings
from skeletonhunter.settings.allowed import allowed
from skeletonhunter.settings.declared import PREFIX
from skeletonhunter.settings.model import Settings
from skeletonhunter.terminal import complain

#: Variables of skeletonhunter-agent, which has options for all else: name -> meaning.
AGENT_VARIABLES: Final[dict[str, str]] = {
    "SKH_PROBE_KEY": "probe key, at least 16 bytes, where `--key-file` is not given (secret)",
    "SKH_NATIVE": "off: without the compiled helper; readers of records take it too",
    "SKH_SENDER_KEY_FILE": "file of the host's sender key, where `--sender-key-file` is not given",
    "SKH_THROUGHPUT": "auto, rdma, net or off, where `--throughput` is not given",
}
_CREDENTIALS: Final = re.compile(r"@|passw|secret|token", re.IGNORECASE)
_LONGEST_SHOWN: Final = 100


def known() -> dict[str, str]:
    """Environment variable -> field."""
    return {PREFIX + name.upper(): name for name in Settings.model_fields}


def is_secret(field: str) -> bool:
    """Whether a field's value must not be shown."""
    extra = Settings.model_fields[field].json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("secret"))


class Examined(NamedTuple):
    """The environment as settings.

    settings  what can be used; defaults where a value cannot
    given     fields that the environment sets
    invalid   of them, those with a value that cannot be used
    mistakes  one line each: variable, reason, remedy
    injected  variables that Kubernetes sets for a Service, which are ignored
    """

    settings: Settings
    given: frozenset[str]
    invalid: frozenset[str]
    mistakes: list[str]
    injected: list[str]


def read(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the environment; raises BadSettings with variable, reason and remedy in one line.

    Variables that Kubernetes sets for a Service are ignored, with one line on stderr. No message
    shows the value of a secret.

    environ  None: that of the process
    """
    found = examine(environ)
    if found.injected:
        note_injected(tuple(found.injected))
    if found.mistakes:
        raise BadSettings(found.mistakes[0])
    return found.settings


def examine(environ: Mapping[str, str] | None = None) -> Examined:
    """Read the environment, with all of its mistakes; nothing is printed."""
    env = os.environ if environ is None else environ
    # An empty one is as good as none: compose files pass `${NAME:-}`.
    mine = {name: value for name, value in env.items() if name.startswith(PREFIX) and value}
    injected = sorted(name for name, value in mine.items() if kubernetes.injected(name, value))
    fields = known()
    values: dict[str, Any] = {}
    mistakes = []
    for name in sorted(mine.keys() - set(injected)):
        if name in fields:
            try:
                values[fields[name]] = _parsed(fields[name], mine[name])
            except BadSettings as why:
                mistakes.append(str(why))
        elif name not in AGENT_VARIABLES:
            near = difflib.get_close_matches(name, fields, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(fields))}"
            mistakes.append(f"{name} is not a setting; {hint}")
    given = frozenset(fields[name] for name in mine.keys() & fields.keys() - set(injected))
    try:
        settings = Settings.model_validate(values)
    except ValidationError as why:
        wrong = {str(each["loc"][0]): each for each in why.errors(include_url=False)}
        for field, each in wrong.items():  # several elements of one list are one mistake
            # pydantic's words are for programmers; those of a validator of ours are for operators
            said = str(each["ctx"]["error"]) if each["type"] == "value_error" else None
            mistakes.append(_mistake(field, mine[PREFIX + field.upper()], said=said))
            del values[field]
        settings = Settings.model_validate(values)
    return Examined(settings, given, given - values.keys(), mistakes, injected)


def _parsed(field: str, text: str) -> Any:
    """The text; where the field is a list, the list that it holds as JSON."""
    if Settings.model_fields[field].annotation != list[str]:
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError as why:
        at = f", not JSON from character {why.pos + 1} on"
        raise BadSettings(_mistake(field, text, at=at)) from None
    except (ValueError, RecursionError):  # a number with too many digits, brackets nested too deep
        raise BadSettings(_mistake(field, text)) from None


def _mistake(field: str, value: str, *, at: str = "", said: str | None = None) -> str:
    """Variable, its value where it is no secret, and what it may hold.

    at    where in the value the mistake is
    said  what is wrong and what to do, where it is known better than from the field's type
    """
    return f"{PREFIX}{field.upper()}{_shown(field, value)}{at}: " + (
        f"it must be {allowed(field)}" if said is None else said
    )


def _shown(field: str, value: str) -> str:
    """The value as part of a message; empty when it is a secret or may hold one."""
    if is_secret(field) or _CREDENTIALS.search(value):
        return ""
    return (
        f" is {value!r}" if len(value) <= _LONGEST_SHOWN else f" is {value[:_LONGEST_SHOWN]!r}..."
    )


@lru_cache(maxsize=1)  # once per process, however often settings are read
def note_injected(names: tuple[str, ...]) -> None:
    """Print one line on stderr about the ignored variables."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    complain(
        f"info: ignored what Kubernetes sets for a Service: {', '.join(names[:3])}{more}; "
        "enableServiceLinks: false keeps it out"
    )
