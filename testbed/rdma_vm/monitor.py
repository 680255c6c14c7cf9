"""QEMU's machine protocol (QMP) on a socket pair: what a guest does that answers no more."""

from __future__ import annotations

import json
import re
import socket
from typing import Any, Final

_ANSWER_S: Final = 2.0
_CPU: Final = re.compile(r"CPU#(\d+).*?RIP=([0-9a-f]+).*?HLT=(\d)", re.DOTALL)


class Monitor:
    """Both ends; the emulator inherits ``fd`` and is started with ``arguments``."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(_ANSWER_S)
        self.fd = self._theirs.fileno()
        self._ready, self._gone = False, False

    @property
    def arguments(self) -> list[str]:
        """Of the emulator's command line."""
        chardev = f"socket,id=monitor,fd={self.fd}"
        return ["-chardev", chardev, "-mon", "chardev=monitor,mode=control"]

    def registers(self) -> str:
        """Of all processors, as text; nothing from an emulator that does not answer."""
        answer = self._execute("human-monitor-command", {"command-line": "info registers -a"})
        return str(answer.get("return", ""))

    def send_break(self) -> None:
        """Send a break over the serial line; the next character is a magic key."""
        self._execute("chardev-send-break", {"id": "serial0"})

    def close(self) -> None:
        """Close both ends."""
        self._ours.close()
        self._theirs.close()

    def _execute(self, command: str, arguments: dict[str, str]) -> dict[str, Any]:
        """The answer; empty where none comes within 2 s, now or earlier."""
        if self._gone:
            return {}
        try:
            if not self._ready:
                self._ask({"execute": "qmp_capabilities"})
                self._ready = True
            return self._ask({"execute": command, "arguments": arguments})
        except (OSError, EOFError):
            self._gone = True
            return {}

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        self._ours.sendall(json.dumps(question).encode() + b"\n")
        heard = b""
        while True:
            piece = self._ours.recv(1 << 16)
            if not piece:
                raise EOFError
            heard += piece
            *lines, heard = heard.split(b"\n")
            for line in lines:
                answer: dict[str, Any] = json.loads(line)
                if "return" in answer or "error" in answer:  # else a greeting or an event
                    return answer


def processors(registers: str) -> list[str]:
    """A line for each processor, from the output of ``info registers -a``."""
    return [
        f"processor {number} {'waits' if halted == '1' else 'runs'} at {address}"
        for number, address, halted in _CPU.findall(registers)
    ]
