"""Values that a configuration only refers to."""

from __future__ import annotations

from collections.abc import Mapping

from notifier.configuration.document import is_reference
from schemas.secret_files import SecretFileError, read_secret


class SecretError(ValueError):
    """A value cannot be read; one line without the value."""


def resolve(text: str, environ: Mapping[str, str]) -> str:
    """The value that env:NAME or file:PATH refers to; any other text is its own value."""
    if not is_reference(text):
        return text
    form, _, where = text.partition(":")
    if form == "env":
        value = environ.get(where, "")
        if not value:
            raise SecretError(f"the variable {where} is not set")
    else:
        try:
            value = read_secret(where).decode()
        except SecretFileError as why:
            raise SecretError(str(why)) from why
        except UnicodeDecodeError:
            raise SecretError(f"{where}: is not UTF-8") from None
    value = value.strip()
    if not value or not value.isprintable():
        raise SecretError(f"{text}: does not hold one line of printable text")
    return value
