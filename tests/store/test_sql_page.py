"""docs/sql.md: every question's query runs, and gives the right answer on known data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from builders.monitoring.known_site import known_site
from builders.monitoring.known_store import known_store
from builders.monitoring.prometheus_tools import PROJECT

from store.client import Store

PAGE = (PROJECT / "docs/sql.md").read_text()
QUERIES: dict[str, str] = dict(
    re.findall(r"^### (.+?)$(?:(?!^###).)*?```sql\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
)
PARAMETERS = {
    "since": "2026-01-31 11:00:00", "at": "2026-01-31 12:05:30", "job": "llm-70b",
    "incident": "AAAA", "host": "h1", "from": "p1", "to": "p2", "path": 1,
    "fabric": "f1", "tor": "t1", "switch": "agg:a1", "now": "2026-01-31 12:06:00",
    "rnic": "rnic:10.0.0.1", "peer": "h2",
    "before": "2026-01-30 00:00:00.000", "after": "2026-01-31 00:00:00.000",
}  # fmt: skip
NIC, TOR = "rnic:10.0.0.1", "tor:asw-3-1"
#: Question -> values of the rows' columns without those of time; a question about time has some.
ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "What is wrong now?": [("P0", NIC, "unconnectivity", "nic_down")],
    "Which incidents affect a job?": [
        ("AAAA", TOR, "loss", "resolved"), ("CCCC", "vswitch:host-7", "high_latency", "open"),
    ],
    "Was it the network, at that time?": [("AAAA", TOR), ("CCCC", "vswitch:host-7", None)],
    "Which components fail again and again?": [(NIC, 1), (TOR, 1)],
    "How long are faults seen before they are named?": [("rnic", 1, 3.0), ("tor", 1, 4.5)],
    "How long do incidents last?": [(TOR, 600)],
    "How did an incident change?": [(1, "open", TOR, 0.93), (2, "resolved", TOR, 0.93)],
    "What does an incident explain?": [("CCCC", "vswitch:host-7", "high_latency")],
    "Which verdicts were not certain?": [
        ("BBBB", NIC, 0.93, [NIC, "link:rnic:10.0.0.1|tor:asw-3-1"])
    ],
    "Why was this component blamed?": [
        ("41 of 43 bad paths cross tor:asw-3-1; 0 of 2,310 good ones do", 41)
    ],
    "How many incidents of each severity, by day?": [("P0", 1), ("P1", 1)],
    "How many good minutes did a job have, by day?": [(1, 11, 1 - 11 / 1440)],
    "Which tenants were affected?": [("blue", 1), ("red", 1)],
    "How much is lost?": [("underlay", 600, 30, 0.05)],
    "Which pairs of ToRs lose most?": [("t1", "t2", 600, 0.05)],
    "Which rnics lose most?": [
        ("10.0.1.2", 300, 0.1), ("10.0.0.1", 600, 0.05), ("10.0.1.1", 300, 0.0),
    ],
    "Which components lost most probes?": [
        ("rnic:10.0.1.2", 300, 0.1), ("rnic:10.0.0.1", 600, 0.05), ("tor:t1", 600, 0.05),
        ("tor:t2", 600, 0.05), ("rnic:10.0.1.1", 300, 0.0),
    ],
    "What is the heat map between ToRs?": [("t1", "t2", 0.05, pytest.approx(20.0), 60.0)],
    "What is the heat map of a day between ToRs?": [("t1", "t2", 0.05, pytest.approx(20.0), 60.0)],
    "Does only one source port of a pair lose?": [
        ("10.0.0.1", "10.0.1.2", 50002, 0.1), ("10.0.0.1", "10.0.1.1", 50001, 0.0),
    ],
    "Which paths of a host are slow?": [
        ("10.0.1.2", 50002, 20.0, 60.0), ("10.0.1.1", 50001, 10.0, 30.0),
    ],
    "How did loss between two pods develop?": [(0.05,)] * 5,
    "How did the round trips of one path develop, each 5 s?": [(10.0, 30.0)] * 3,
    "How many paths and hosts are probed?": [(2, 1)],
    "What is the path_id of the API, and of anomalies in Kafka?": [
        ("0000000000000001", "", 50001, "", 0)
    ],
    "Which five-tuples of an incident were bad, and which way did they go?": [
        ("underlay", "10.0.0.1", 50002, "10.0.1.2", 65300, 0.1, ["t1", "s2", None])
    ],
    "Which way did the bad paths of an incident go?": [("h1", "h2", 3, ["t1", "s2", None])],
    "Which hops do bad paths share?": [("s2", 1), ("t1", 1)],
    "How much does each rnic of a host send and receive?": [
        ("10.0.0.1", 60, 8.0, 16.0), ("10.0.0.1", 60, 24.0, 16.0),
    ],
    "Which rnics send most?": [("f1", "10.0.0.1", "h1", 24.0), ("f1", "10.0.1.2", "h2", 8.0)],
    "Did an rnic lose probes while it was busy?": [(8.0, 0.05), (24.0, 0.05)],
    "How complete is the throughput of a host?": [("10.0.1.2", 90, 120)],
    "Which rnics had CRC or symbol errors?": [(NIC, "mlx5_0/1", "symbol_error", 7)],
    "What did the counters of an incident's ports count?": [
        ("h1", "mlx5_0/1", "pause", "rx_prio3_pause", 300),
        ("h1", "mlx5_0/1", "damaged", "symbol_error", 7),
    ],
    "Were pauses and congestion marks there where probes were lost?": [(NIC, 300, 0, 0.05)],
    "How many switches, hosts and rnics does a fabric have?": [
        ("agg", 2), ("container", 1), ("host", 3), ("link", 6), ("rnic", 2), ("spine", 1),
        ("tor", 2),
    ],
    "Which rnics are below a ToR?": [("10.0.0.1", "h1", 0)],
    "Which links does a switch have?": [("spine:s1",), ("tor:t1",)],
    "What changed between two topology documents?": [
        ("added", "host:h3"), ("added", "link:agg:a1|spine:s1"), ("added", "link:agg:a2|spine:s1"),
        ("added", "spine:s1"), ("removed", "spine:s9"),
    ],
    "How much does each rail lose?": [(0, 900, pytest.approx(60 / 900))],
    "How did the windows of a job develop in the last hour?": [(0.05, 60.0)] * 3,
    "Which paths of a job lose most?": [
        ("10.0.0.1", "10.0.1.2", 0, 0, 300, 0.1), ("10.0.0.1", "10.0.1.1", 0, None, 300, 0.0),
    ],
    "How much does each rail of a job lose?": [(0, 0, 300, 0.1), (0, None, 300, 0.0)],
    "Which single records of a job were lost, and where did they go?": [
        ("10.0.0.1", "10.0.1.2", 50002, "timeout"),
    ],
    "What traffic has each rnic of a job, by minute?": [
        (0, "10.0.0.1", 8.0, 16.0), (0, "10.0.1.2", 2.7, 16.0), (0, "10.0.0.1", 24.0, 16.0),
        (0, "10.0.1.2", 8.0, 16.0),
    ],
    "Which rnics of a job send much less than the others of their rail?": [
        (0, "10.0.1.2", 6.2, 0.39),
    ],
    "Where does a job run?": [("c1", "h1", "ready"), ("c2", "h2", "starting")],
    "Which jobs ran on a host at a time?": [("llm-70b", ["c1"])],
    "How long did a job's containers take to become ready?": [("c1", 90)],
    "Which jobs have not ended, and how large are they?": [("llm-70b", "blue", 2)],
    "Which skeletons are in use?": [("f1", "llm-70b", 2, 1, 20, 0.9)],
    "Why was a skeleton declined?": [("no rhythm",)],
    "Which rnics are in which stage and DP group?": [(0, 0, ["10.0.0.1"]), (1, 1, ["10.0.1.2"])],
    "What did people do about an incident?": [
        ("acknowledge", "ana", ""), ("assign", "ana", "bob"), ("feedback", "bob", "right"),
    ],
    "Which active incidents are neither assigned nor acknowledged?": [
        ("P0", NIC, "unconnectivity"),
    ],
    "How long does it take until somebody acknowledges?": [("P1", 1, 55.0)],
    "How often were verdicts right?": [("tor", 1, 0)],
    "Which agents are silent?": [("f1", "h2", 60)],
    "Which releases do agents run?": [("1.1", 1), ("1.2", 1)],
    "Which hosts starve their agents?": [("h2", 0.5, 900.0)],
    "Which hosts of the topology have no agent?": [("h3",)],
    "What does no probe cross?": [("f1", 1, ["tor:t9"])],
    "Which records could not be used, and why?": [("skh.pings", "row 3: no dst_ip", 5)],
    "How many records came, and were they judged?": [("TRACEROUTE", "", 3), ("UDP_PING", "", 1)],
    "How large are the tables?": [("path_windows", 110)],
    "What does a column mean?": [
        ("tie_set", "all that probes cannot tell from component, with it")
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with known_store(tmp_path_factory.mktemp("sql") / "store") as opened:
        known_site(opened)
        yield opened


def test_every_question_of_the_page_has_a_query_and_a_known_answer() -> None:
    questions = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
    assert questions == list(QUERIES) == list(ANSWERS)


@pytest.mark.parametrize("question", list(ANSWERS))
def test_a_question_has_the_right_answer(store: Store, question: str) -> None:
    query = QUERIES[question]
    given = {name: value for name, value in PARAMETERS.items() if f"{{{name}:" in query}
    rows = [
        tuple(value for value in row.values() if not hasattr(value, "year"))
        for row in store.rows(query, given)
    ]
    assert rows == [
        tuple(pytest.approx(each) if isinstance(each, float) else each for each in row)
        for row in ANSWERS[question]
    ]


#: Tables that people read through a view of the page, or that a view of the page reads.
BEHIND = {
    "pings": "pings_unique", "anomalies": "anomalies_unique", "path_windows": "path_windows_latest",
    "path_half_minutes": "path_minutes", "tor_minutes": "tor_matrix",
    "path_half_minutes_writer": "path_minutes", "tor_minutes_writer": "tor_matrix",
    "tor_hours": "tor_matrix_hours", "tor_hours_writer": "tor_matrix_hours",
    "job_places": "job_path_windows",
}  # fmt: skip


def test_the_page_names_all_tables_that_people_read(store: Store) -> None:
    cells = re.findall(r"^\| (`\w.*?) \|", PAGE, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`(\w+)(?: FINAL)?`", cell)}
    rows = store.rows("SELECT name FROM system.tables WHERE database = currentDatabase()")
    there = {row["name"] for row in rows} - {"schema_migrations"}
    assert named == there - BEHIND.keys()
    assert named >= set(BEHIND.values())


def test_sums_over_minutes_count_each_probe_once(store: Store) -> None:
    (once,) = store.rows("SELECT sum(sent) AS sent, sum(lost) AS lost FROM path_minutes")
    (often,) = store.rows("SELECT sum(sent) AS sent FROM path_windows_latest")
    assert (once["sent"], once["lost"]) == (2 * 300, 30)
    assert often["sent"] > 5 * once["sent"]
