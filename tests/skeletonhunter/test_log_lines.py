"""Lines of the log as JSON: one object each, of every library and with any text."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

from builders.control_characters import CONTROL

from skeletonhunter.log_lines import AlikeLines, JsonLine

PROGRAM = """
import logging, threading, time, warnings
from confluent_kafka import Producer
from skeletonhunter import log_lines, terminal
from skeletonhunter.services.broker import client_settings
from skeletonhunter.settings import Settings

log_lines.start("WARNING", "json")
terminal.announce("started")
terminal.complain("broken")
logging.getLogger("faust").warning("rebalanced")
logging.getLogger("x").info("not shown")
logging.getLogger("mode").setLevel("INFO")
logging.getLogger("mode").info("not shown either")
warnings.warn("old")
thread = threading.Thread(target=lambda: 1 / 0, name="worker")
thread.start()
thread.join()
producer = Producer(client_settings(Settings(kafka="127.0.0.1:1")))
seen = []
handler = logging.Handler()
handler.emit = seen.append
logging.getLogger(log_lines.KAFKA_LOGGER).addHandler(handler)
end = time.monotonic() + 60
while not seen and time.monotonic() < end:
    producer.poll(0.1)
"""


def test_every_line_is_an_object_with_time_level_logger_and_message() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout == ""
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert all(line.keys() >= {"time", "level", "logger", "message"} for line in lines)
    found = {(line["logger"], line["level"]): line for line in lines}
    assert found["skeletonhunter", "info"]["message"] == "started"
    assert found["faust", "warning"]["message"] == "rebalanced"
    assert "old" in found["py.warnings", "warning"]["message"]
    assert "Connection refused" in found["librdkafka", "error"]["message"]
    errors = [line for line in lines if line["logger"] == "skeletonhunter"]
    assert [line["message"] for line in errors] == ["started", "broken", "worker failed"]
    assert "ZeroDivisionError" in errors[-1]["traceback"]
    # A lower level of a library's logger does not count: `demo` shows errors only.
    assert all("not shown" not in line["message"] for line in lines)


def test_a_line_holds_any_text_without_control_characters() -> None:
    record = logging.makeLogRecord({"name": "x", "levelname": "ERROR", "msg": f"{CONTROL}\n\u2028"})
    line = JsonLine().format(record)
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["message"] == f"{CONTROL}\n\u2028"


def test_of_alike_lines_of_kafka_clients_one_passes_in_half_a_minute_and_counts_the_others() -> (
    None
):
    now_s = [0.0]
    passes = AlikeLines(lambda: now_s[0])

    def logged(name: str, text: str, *args: object) -> str | None:
        line = logging.LogRecord(name, logging.ERROR, __file__, 1, text, args, None)
        return line.getMessage() if passes.filter(line) else None

    first = logged("aiokafka.conn", "node %d is away after %d ms", 1, 3)
    assert first == "node 1 is away after 3 ms"
    for now_s[0] in (1.0, 29.0):
        assert logged("aiokafka.conn", "node %d is away after %d ms", 1, 70) is None
        assert logged("streams.sink", "not stored") == "not stored", "lines of our own all pass"
    assert logged("librdkafka", "another line") == "another line"
    now_s[0] = 31.0
    assert logged("aiokafka.conn", "node %d is away after %d ms", 1, 4) == (
        "node 1 is away after 4 ms (2 alike before)"
    )
