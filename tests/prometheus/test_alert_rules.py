"""Every alert fires on what it is about and on nothing else, by Prometheus' own rule tester."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from builders.monitoring.prometheus_tools import PROJECT, SHIPPED, tool

from schemas.metrics import Metric, agent, api, controller, notifier, sink, stream

RULES = yaml.safe_load((SHIPPED / "alerts.yml").read_text())
ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"]
}
METRICS = {
    each.name: each
    for module in (agent, api, controller, notifier, sink, stream)
    for each in vars(module).values()
    if isinstance(each, Metric)
}


class Example(NamedTuple):
    """Series, one value each 15 s, from which an alert must fire at ``minutes``, and from which it
    must not.

    fires, quiet  series -> values in promtool's notation: 1x40 is 41 times a 1, 0+5x40 rises by 5
    """

    fires: dict[str, str]
    quiet: dict[str, str]
    minutes: int = 10


def of_incident(severity: str, value: str) -> dict[str, str]:
    labels = f'component="tor:t1",symptom="loss",severity="{severity}",incident_id="A"'
    return {f"skh_incident_active{{{labels}}}": value}


LAG, CATCHING = 'skh_stream_lag_seconds{instance="w"}', 'skh_stream_catching_up{instance="w"}'
RECORDS = "skh_stream_records_total"
EXAMPLES = {
    "SkhIncidentP0": Example(of_incident("P0", "1x40"), of_incident("P1", "1x40")),
    "SkhIncidentP1": Example(of_incident("P1", "1x40"), of_incident("P0", "1x40")),
    "SkhIncidentP2": Example(of_incident("P2", "1x40"), of_incident("P2", "_x35 1x5")),
    "SkhIncidentsUnlisted": Example(
        {'skh_incidents_active{severity="P0"}': "3x40", **of_incident("P0", "1x40")},
        {'skh_incidents_active{severity="P0"}': "1x40", **of_incident("P0", "1x40")},
    ),
    "SkhDown": Example({'up{job="skeletonhunter"}': "0x40"}, {'up{job="skeletonhunter"}': "1x40"}),
    "SkhNotJudging": Example({"up": "1x40"}, {LAG: "0x40"}),
    "SkhJudgingBehind": Example(
        {LAG: "20x40", CATCHING: "0x40"}, {LAG: "20x40", CATCHING: "1x40"},
    ),
    "SkhCatchingUpLong": Example({CATCHING: "1x80"}, {CATCHING: "1x20 0x5 1x55"}, minutes=11),
    "SkhFabricFailing": Example(
        {'skh_stream_fabric_failing{fabric="f"}': "1x40"},
        {'skh_stream_fabric_failing{fabric="f"}': "0x40"},
    ),
    "SkhPartitionStuck": Example(
        {"skh_stream_partitions_stuck": "1x40"}, {"skh_stream_partitions_stuck": "0x40"}
    ),
    "SkhCommitStalled": Example(
        {"skh_stream_commit_stalled": "1x40"}, {"skh_stream_commit_stalled": "0x30 1x10"}
    ),
    "SkhUncovered": Example(
        {"skh_stream_uncovered_components": "4x80"}, {"skh_stream_uncovered_components": "0x80"},
        minutes=16,
    ),
    "SkhMessagesLost": Example(
        {"skh_sink_missing_messages_total": "0x30 7x10"},
        {"skh_sink_missing_messages_total": "7x40"},
    ),
    "SkhRecordsLate": Example(
        {f'{RECORDS}{{outcome="late"}}': "0+10x40", f'{RECORDS}{{outcome="judged"}}': "0+100x40"},
        {f'{RECORDS}{{outcome="late"}}': "0+1x40", f'{RECORDS}{{outcome="judged"}}': "0+100x40"},
    ),
    "SkhDeadLetters": Example(
        {f'{RECORDS}{{outcome="dead_lettered"}}': "0x30 1x10"},
        {"skh_stream_dead_letters_total": "9x40", f'{RECORDS}{{outcome="judged"}}': "0+9x40"},
    ),
    "SkhSendersRefused": Example(
        {'skh_stream_refused_total{reason="bad_signature"}': "0x30 1x10"},
        {'skh_stream_refused_total{reason="replayed"}': "0+1x40"},
    ),
    "SkhTwoAgentsOfOneHost": Example(
        {"skh_stream_agent_twins": "1x40"}, {"skh_stream_agent_twins": "0x30 1x10"}
    ),
    "SkhApiNotReady": Example({"skh_api_ready": "0x40"}, {"skh_api_ready": "1x40"}),
    "SkhStoredLongAgo": Example(
        {"skh_stored_age_seconds": "90x40"}, {"skh_stored_age_seconds": "5x40"}
    ),
    "SkhSinkWaiting": Example({"skh_sink_waiting": "1x40"}, {"skh_sink_waiting": "0x38 1x2"}),
    "SkhSinkBehind": Example(
        {'skh_sink_lag_messages{topic="skh.pings"}': "0+5000x40"},
        {'skh_sink_lag_messages{topic="skh.pings"}': "900000-5000x40"},
    ),
    "SkhControllerNotReady": Example(
        {"skh_controller_ready": "0x40"}, {"skh_controller_ready": "1x40"}
    ),
    "SkhAgentListLost": Example(
        {"skh_agent_list_age_seconds": "0+15x40"}, {"skh_agent_list_age_seconds": "30x40"}
    ),
    "SkhAgentStarved": Example(
        {"skh_agent_scheduling_delay_seconds": "0.2x40"},
        {"skh_agent_scheduling_delay_seconds": "0.003x30 0.4x1 0.003x9"},
    ),
    "SkhAgentDropsRecords": Example(
        {'skh_agent_published_messages_total{outcome="spool-full"}': "0x30 3x10"},
        {'skh_agent_published_messages_total{outcome="spooled"}': "0+3x40"},
    ),
    "SkhAgentsDown": Example(
        {'up{job="skeletonhunter-agents",instance="a"}': "0x40"},
        {'up{job="skeletonhunter-agents",instance="a"}': "1x40"},
    ),
    "SkhNotifierFailing": Example(
        {'skh_notifier_failing_seconds{channel="a"}': "0+15x40"},
        {'skh_notifier_failing_seconds{channel="a"}': "60x40"},
    ),
    "SkhNotifierDrops": Example(
        {'skh_notifier_notifications_total{channel="a",outcome="dropped"}': "0x30 1x10"},
        {'skh_notifier_notifications_total{channel="a",outcome="delivered"}': "0+1x40"},
    ),
    "SkhNotifierNone": Example(
        {'skh_notifier_leads{instance="a"}': "0x40"},
        {'skh_notifier_leads{instance="a"}': "0x40", 'skh_notifier_leads{instance="b"}': "1x40"},
    ),
}  # fmt: skip


def rule_test(name: str, series: dict[str, str], minutes: int, firing: bool) -> dict[str, Any]:
    """One test in promtool's format: whether the alert fires then."""
    expected = [{"labels": "{}", "value": 1}] if firing else []
    return {
        "interval": "15s",
        "input_series": [{"series": each, "values": values} for each, values in series.items()],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}})',
                "eval_time": f"{minutes}m",
                "exp_samples": expected,
            }
        ],
    }


def test_every_alert_has_an_example_and_a_page_of_its_own() -> None:
    assert set(EXAMPLES) == set(ALERTS)
    page = (PROJECT / "docs/alerts.md").read_text()
    described = re.findall(r"^### (\w+)$", page, re.MULTILINE)
    assert sorted(described) == sorted(ALERTS)
    for name, rule in ALERTS.items():
        assert rule["annotations"]["runbook"] == f"docs/alerts.md#{name.lower()}"
        assert rule["labels"]["severity"] in ("page", "ticket")


@pytest.mark.parametrize("name", sorted(ALERTS))
def test_an_alert_is_about_metrics_that_exist(name: str) -> None:
    used = set(re.findall(r"\bskh_\w+", ALERTS[name]["expr"])) | {
        each for series in (*EXAMPLES[name].fires, *EXAMPLES[name].quiet)
        for each in re.findall(r"^skh_\w+", series)
    }  # fmt: skip
    assert used <= METRICS.keys()
    for label in re.findall(r"(\w+)(?:=|!=|=~)\"", ALERTS[name]["expr"]):
        assert label == "job" or any(label in METRICS[each].labels for each in used), label


def test_alerts_fire_on_what_they_are_about_and_on_nothing_else(tmp_path: Path) -> None:
    promtool = tool("promtool")
    tests = [
        rule_test(name, series, example.minutes, firing)
        for name, example in EXAMPLES.items()
        for series, firing in ((example.fires, True), (example.quiet, False))
    ]
    document = {
        "rule_files": [str(SHIPPED / "alerts.yml")], "evaluation_interval": "15s", "tests": tests
    }  # fmt: skip
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(document))
    done = subprocess.run(
        [promtool, "test", "rules", str(tmp_path / "tests.yml")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_shipped_files_are_valid() -> None:
    for command in (
        [tool("promtool"), "check", "config", str(SHIPPED / "prometheus.yml")],
        [tool("amtool"), "check-config", str(SHIPPED / "alertmanager.yml")],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
