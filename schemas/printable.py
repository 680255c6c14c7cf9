"""Text from records and documents, made safe for terminals and log lines.

A sender chooses the names in its records. Printed unescaped, ESC[2J would clear the screen, a
carriage return overwrite the line, and a bidirectional override change what a name looks like.
"""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with each character that is not ``str.isprintable`` escaped, as ``\x1b``.

    Those are the control characters (C0, C1, DEL: line feed and tab too), format characters
    (bidirectional marks, zero-width ones), lone surrogates and all spaces but the plain one.
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def printable_lines(text: str) -> str:
    """The same for text of several lines: line feeds are not escaped."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
