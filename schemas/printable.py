"""Text from records and documents, made safe for a terminal or a log line.

A name in a record is chosen by its sender. Written out as it is, ESC[2J clears the screen, a
carriage return overwrites the line, and a bidirectional override shows another name than is meant.
"""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with every character that ``str.isprintable`` denies as an escape: ``\x1b``.

    Those are the control characters (C0, C1, DEL: line feed and tab too), format characters
    (bidirectional marks, zero-width ones), lone surrogates and all spaces but the plain one.
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def printable_lines(text: str) -> str:
    """The same for text of several lines: only its line feeds are left as they are."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
