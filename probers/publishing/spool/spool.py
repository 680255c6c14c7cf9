"""A folder of segments: bounded in bytes, messages and age; the oldest messages are dropped first.

Nothing is synchronized: what was written survives the death of the process, and of the machine but
for what its kernel had not yet written to the disk (30 s with Linux's defaults). A message that was
delivered just before the agent died is sent again; the analyzer recognizes it as a duplicate.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from probers.publishing.frames import Frame
from probers.publishing.spool.segment import SUFFIX, Segment, encode

_NS: Final = 1_000_000_000
_LOCK: Final = "lock"


class SpoolError(RuntimeError):
    """The folder cannot be used; one line: where, what, what to do."""


@dataclass(frozen=True, slots=True)
class SpoolLimits:
    """How much a spool keeps.

    max_bytes      of all segments; max_age_s: of a message; max_messages: of those not done
    segment_bytes  a segment is closed when it is as large, or a sixteenth of max_bytes: the oldest
                   segment is what a full spool drops
    empty_bytes    or already now, when all its messages are done: it is deleted before the kernel
                   has written it to the disk
    """

    max_bytes: int = 256 * 1024 * 1024
    max_age_s: float = 24 * 3600.0
    max_messages: int = 100_000
    segment_bytes: int = 8 * 1024 * 1024
    empty_bytes: int = 256 * 1024


class Spool:
    """Numbers messages in the order in which they come, and keeps each until it is done.

    All methods may be called in any thread. Disk errors cost a message, not the agent.
    lost     messages that were dropped before they were done, by cause: full, aged, disk (not
             written, or not readable)
    torn     bytes that were no whole message when the spool was opened
    """

    def __init__(self, folder: Path, limits: SpoolLimits | None = None) -> None:
        """Open the folder, or make it; raises SpoolError. One process has it at a time."""
        self._limits = limits or SpoolLimits()
        self._segment_bytes = min(self._limits.segment_bytes, self._limits.max_bytes // 16)
        self._folder = folder
        self._mutex = threading.Lock()
        self.lost: Counter[str] = Counter()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as why:
            raise SpoolError(f"spool {folder}: {why.strerror}; give a folder of the agent") from why
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as why:
            os.close(self._lock)
            raise SpoolError(f"spool {folder}: another agent has it; give each its own") from why
        try:
            firsts = sorted(int(each.stem) for each in folder.glob(f"*{SUFFIX}"))
            self._segments = [Segment(folder, first) for first in firsts]
        except (OSError, ValueError) as why:
            os.close(self._lock)
            raise SpoolError(f"spool {folder}: {why}; move its files away") from why
        self.torn = sum(each.torn for each in self._segments)
        self._next = max((each.first + len(each) for each in self._segments), default=0)
        self._active: Segment | None = None
        for each in [each for each in self._segments if not each.left]:
            self._remove(each)

    @property
    def disk_bytes(self) -> int:
        """Of all segments."""
        return sum(each.size for each in list(self._segments))

    @property
    def left(self) -> int:
        """Messages that are not done."""
        return sum(each.left for each in list(self._segments))

    def pending(self) -> list[int]:
        """Numbers of the messages that are not done, in order."""
        with self._mutex:
            return [number for each in self._segments for number in each.pending()]

    def append(self, frame: Frame, now_ns: int) -> int | None:
        """Keep a message; returns its number, None when the disk does not take it.

        now_ns  wall clock [ns since the epoch]
        """
        raw = encode(frame, now_ns)
        with self._mutex:
            self._bound(len(raw), now_ns)
            try:
                if self._active is None or self._active.size >= self._segment_bytes:
                    self._active = Segment(self._folder, self._next)
                    self._segments.append(self._active)
                number = self._active.append(raw, now_ns)
            except OSError:
                self.lost["disk"] += 1
                return None
            self._next = number + 1
            return number

    def done(self, number: int) -> None:
        """The broker has a message; no effect when it was dropped."""
        with self._mutex:
            segment = self._of(number)
            if segment is None:
                return
            with suppress(OSError):  # it will be sent once more after a restart
                segment.done(number)
            full = segment is not self._active or segment.size >= self._limits.empty_bytes
            if not segment.left and full:
                self._remove(segment)

    def read(self, number: int) -> Frame | None:
        """A message that is not done; None when it was dropped, or cannot be read."""
        with self._mutex:
            segment = self._of(number)
            if segment is None:
                return None
            try:
                frame = segment.read(number)
            except OSError:
                frame = None
            if frame is None and self._mark(segment, number):
                self.lost["disk"] += 1
            return frame

    def close(self) -> None:
        """Close the files; what is not done is there when the folder is opened again."""
        with self._mutex:
            for each in [each for each in self._segments if not each.left]:
                self._remove(each)
            for each in self._segments:
                each.close()
            self._segments.clear()
            os.close(self._lock)

    def _mark(self, segment: Segment, number: int) -> bool:
        try:
            return segment.done(number)
        except OSError:
            return True

    def _bound(self, more: int, now_ns: int) -> None:
        """Drop the oldest segments until ``more`` bytes, and one message, fit."""
        limits = self._limits
        oldest_ns = now_ns - int(limits.max_age_s * _NS)
        while self._segments:
            head = self._segments[0]
            aged = bool(len(head)) and head.newest_ns < oldest_ns
            full = self.disk_bytes + more > limits.max_bytes or self.left >= limits.max_messages
            if not aged and not full:
                return
            self.lost["aged" if aged else "full"] += head.left
            self._remove(head)

    def _of(self, number: int) -> Segment | None:
        for each in reversed(self._segments):
            if each.first <= number:
                return each if number < each.first + len(each) else None
        return None

    def _remove(self, segment: Segment) -> None:
        if segment is self._active:
            self._active = None
        self._segments.remove(segment)
        segment.remove()
