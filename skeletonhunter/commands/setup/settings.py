"""``skeletonhunter settings``: every SKH_* variable and its meaning; the page docs/settings.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from skeletonhunter import terminal

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_HEAD: Final = """\
# Settings

Written by `skeletonhunter settings --format markdown`; do not edit.

Environment variables, read once when a command starts; an empty one is none. An unknown `SKH_*`
variable is an error, except for those that Kubernetes sets for a Service
(`SKH_API_PORT=tcp://...`): these are ignored, with a line on stderr. An option of the command
overrides its setting. A value that is not allowed is an error of one line, which says what is; no
message shows a secret.
`skeletonhunter config check --part stream` prints what is in effect, where it is from, and a line
for each mistake in values and in named files (exit code 2), `--part up` of everything in one
process. It connects to nothing.
"""
_AGENT: Final = """\
## The agent

`skeletonhunter-agent` is configured by its options (`skeletonhunter-agent --help`) and by

| variable | meaning |
|---|---|
"""
_KEYS: Final = """
A file with a key (`--key-file`) is refused when its group or other users have access to it; run
`chmod 600` on it.
"""


def register(app: typer.Typer) -> None:
    """Add ``settings``."""

    @app.command(epilog="Example: skeletonhunter settings --format markdown > docs/settings.md")
    def settings(
        output: Annotated[
            Literal["text", "markdown"],
            typer.Option("--format", help="Plain lines, or the page docs/settings.md."),
        ] = "text",
    ) -> int:
        """List every environment variable.

        With default, unit, meaning and the commands that read it.
        """
        text = markdown() if output == "markdown" else plain()
        terminal.echo(text.rstrip("\n"))
        return 0


def markdown() -> str:
    """The page docs/settings.md."""
    from skeletonhunter.settings import AGENT_VARIABLES

    lines = [
        _HEAD,
        "| variable | default | unit | meaning | read by |",
        "|---|---|---|---|---|",
        *(
            f"| `{name}` | {f'`{default}`' if default else 'none'} | {unit} | "
            f"{meaning}{' (secret)' if secret else ''} | "
            f"{', '.join(f'`{command}`' for command in commands)} |"
            for name, default, unit, meaning, commands, secret in _rows()
        ),
        "",
        _AGENT + "\n".join(f"| `{name}` | {text} |" for name, text in AGENT_VARIABLES.items()),
        _KEYS,
    ]
    return "\n".join(lines)


def plain() -> str:
    """Two lines per variable."""
    from skeletonhunter.settings import AGENT_VARIABLES

    lines = []
    for name, default, unit, meaning, commands, secret in _rows():
        lines.append(f"{name}  default {default or 'none'}{f' {unit}' if unit else ''}")
        lines.append(f"    {meaning}{' (secret)' if secret else ''}; read by {', '.join(commands)}")
    for name, text in AGENT_VARIABLES.items():
        lines += [name, f"    {text}; read by skeletonhunter-agent"]
    return "\n".join(lines)


def _rows() -> list[tuple[str, str, str, str, tuple[str, ...], bool]]:
    """(variable, default, unit, meaning, commands, secret) of each setting, as they are defined."""
    from skeletonhunter.settings import PREFIX, Settings

    return [
        (PREFIX + name.upper(), _default(field), *_described(name, field))
        for name, field in Settings.model_fields.items()
    ]


def _described(name: str, field: FieldInfo) -> tuple[str, str, tuple[str, ...], bool]:
    extra: Any = field.json_schema_extra
    if not isinstance(extra, dict) or not field.description:
        raise TypeError(
            f"setting {name}: give it a description and json_schema_extra=_read_by(...)"
        )
    return extra["unit"], field.description, tuple(extra["read_by"]), extra["secret"]


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
