"""One line about one part of the host."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["ok", "warning", "error"]


class Finding(NamedTuple):
    """What is so, and what to do about it.

    level   error: the agent does not work like this; warning: it measures less, or worse
    part    such as clock; text: what was found; remedy: what to do, empty where all is well
    """

    level: Level
    part: str
    text: str
    remedy: str = ""

    @property
    def line(self) -> str:
        """The finding as it is printed."""
        said = f"{self.text}; {self.remedy}" if self.remedy else self.text
        return f"{self.level:<8} {self.part:<12} {said}"
