"""What receivers get: the sentence first, nothing that their syntax would take for its own."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec
import pytest
from builders.schemas.incidents import INCIDENT, NIC, PIPELINE, RESOLVED
from hypothesis import given
from hypothesis import strategies as st

from notifier.decisions.changes import Notification, Reported
from notifier.messages import alertmanager, pagerduty, slack, text, webhook
from notifier.messages.requests import Request

PAGE = "https://skh.example/"
OPENED = Notification("opened", INCIDENT)
BEFORE = Reported("open", 1, "P1", "tor:asw-3-1")
RAISED = Notification(
    "severity_raised", msgspec.structs.replace(INCIDENT, version=2, severity="P0"), BEFORE
)
MOVED = Notification(
    "component_changed", msgspec.structs.replace(INCIDENT, version=2, component="tor:b"), BEFORE
)
OVER = Notification("resolved", RESOLVED, BEFORE)
PART = Notification("resolved", msgspec.structs.replace(INCIDENT, parent="CAUSE"), BEFORE, True)


def body(request: Request) -> Any:
    assert request.body is not None
    return msgspec.json.decode(request.body)


@pytest.mark.parametrize(
    ("notification", "sentence"),
    [
        (OPENED, "P1: tor:asw-3-1 loses packets since 2026-01-31 12:00:00 UTC in f1; "
                 "jobs hit: llm-70b"),
        (RAISED, "P0 (was P1): tor:asw-3-1 loses packets since 2026-01-31 12:00:00 UTC in f1; "
                 "jobs hit: llm-70b"),
        (MOVED, "P1: tor:b (not tor:asw-3-1) loses packets since 2026-01-31 12:00:00 UTC in f1; "
                "jobs hit: llm-70b"),
        (OVER, "Resolved: tor:asw-3-1 lost packets from 2026-01-31 12:00:00 UTC to "
               "2026-01-31 12:10:00 UTC in f1; jobs hit: llm-70b"),
        (PART, "Part of CAUSE: tor:asw-3-1 loses packets in f1; its cause has an incident of its "
               "own"),
        (Notification("opened", PIPELINE), "P2: pipeline:f1 cannot be judged since "
         "2026-01-31 12:00:00 UTC in f1; no job is hit"),
    ],
)  # fmt: skip
def test_the_sentence_says_component_symptom_severity_time_and_jobs(
    notification: Notification, sentence: str
) -> None:
    assert text.sentence(notification) == sentence


def test_the_details_have_tie_set_confidence_and_the_issue_type_with_its_probability() -> None:
    evidence = {"text": "why", "issue_types": {"nic_down": 0.81}}
    found = dict(text.details(Notification("opened", msgspec.structs.replace(
        NIC, evidence=evidence
    ))))  # fmt: skip
    assert found["Probes cannot tell it from"] == "link:rnic:10.0.0.1|tor:asw-3-1"
    assert found["Confidence"] == "0.93"
    assert found["Issue type"] == "nic_down (probability 0.81)"
    assert found["Why"] == "why"


def test_names_are_printable_short_and_few() -> None:
    jobs = [f"job-{number}\x1b[2J" + "x" * 1000 for number in range(100)]
    found = text.sentence(
        Notification("opened", msgspec.structs.replace(INCIDENT, jobs=jobs, fabric="f\u202e"))
    )
    assert found.isprintable()
    assert len(found) < 1000
    assert found.endswith("and 95 more")


def test_a_slack_message_has_the_sentence_first_and_a_link_to_the_page() -> None:
    found = body(slack.message(OPENED, PAGE))
    assert found["text"].startswith("P1: tor:asw-3-1 loses packets")
    assert "<https://skh.example/incidents/AAAA|" in found["attachments"][0]["text"]


@given(st.text(max_size=80))
def test_no_name_becomes_a_link_or_a_mention_in_slack(evil: str) -> None:
    incident = msgspec.structs.replace(
        INCIDENT, component=f"tor:{evil}<!channel>", fabric="<@U1>", jobs=["<http://x|y>", evil],
        tie_set=["a", "<!here>"], tenants=["&lt;"], evidence={"text": f"<!everyone>{evil}"},
        incident_id="A|<!channel>",
    )  # fmt: skip
    for request in (
        slack.message(Notification("opened", incident), PAGE),
        slack.summary([Notification("opened", incident)] * 2, 30, PAGE),
    ):
        found = body(request)
        shown = found["text"] + found["attachments"][0]["text"]
        links = [part.split(">")[0] for part in shown.split("<")[1:]]
        assert all(each.startswith("https://skh.example/") for each in links), links


def test_pagerduty_joins_the_events_of_an_incident_by_its_id() -> None:
    events = [body(pagerduty.event(each, PAGE, "KEY")) for each in (OPENED, RAISED, OVER)]
    assert {each["dedup_key"] for each in events} == {"AAAA"}
    assert [each["event_action"] for each in events] == ["trigger", "trigger", "resolve"]
    assert [each["payload"]["severity"] for each in events[:2]] == ["error", "critical"]
    assert events[0]["links"][0]["href"] == "https://skh.example/incidents/AAAA"


def test_pagerduty_closes_the_alert_of_a_summary_for_an_incident_that_was_in_it() -> None:
    before = msgspec.structs.replace(BEFORE, summary="summary:X:1")
    found = body(pagerduty.event(Notification("resolved", RESOLVED, before), PAGE, "KEY"))
    assert (found["event_action"], found["dedup_key"]) == ("resolve", "summary:X:1")


def test_a_summary_has_counts_and_the_most_urgent_first() -> None:
    many = [OPENED] * 7 + [OVER, RAISED]
    found = body(pagerduty.summary(many, 30, PAGE, "KEY", "summary:A"))
    assert found["payload"]["summary"] == (
        "9 more changes of incidents within 30 s: 7 opened, 1 resolved, 1 severity raised "
        "(1 P0, 7 P1)"
    )
    assert found["payload"]["severity"] == "critical"
    assert "P0 (was P1)" in body(slack.summary(many, 30, PAGE))["attachments"][0]["text"]


def test_an_alert_of_alertmanager_ends_by_itself_unless_it_is_sent_again() -> None:
    (found,) = body(alertmanager.alerts(OPENED, PAGE, now_s=1_000_000_000))
    assert found["labels"]["incident_id"] == "AAAA"
    assert found["labels"]["alertname"] == "SkhIncidentP1"
    assert found["startsAt"] == INCIDENT.opened_at
    assert found["endsAt"] == "2001-09-09T01:51:40.000Z"


def test_an_alert_whose_labels_change_ends_and_another_one_begins() -> None:
    first, last = body(alertmanager.alerts(RAISED, PAGE, now_s=1_000_000_000))
    assert (first["labels"]["priority"], last["labels"]["priority"]) == ("P0", "P1")
    assert last["endsAt"] == "2001-09-09T01:46:40.000Z"


def test_the_end_of_an_alert_has_the_labels_that_were_reported() -> None:
    over = msgspec.structs.replace(RESOLVED, severity="P2", component="tor:other")
    (found,) = body(alertmanager.alerts(Notification("resolved", over, BEFORE), PAGE, 10**9))
    assert found["labels"]["priority"] == "P1"
    assert found["labels"]["component"] == "tor:asw-3-1"
    assert found["endsAt"] == "2001-09-09T01:46:40.000Z"


def test_a_webhook_gets_the_whole_incident() -> None:
    found = body(webhook.document(OVER, PAGE, None, 10**9))
    assert found["type"] == "resolved"
    assert found["incident"] == msgspec.to_builtins(RESOLVED)
    assert found["page"] == "https://skh.example/incidents/AAAA"


def test_a_webhook_is_signed_over_time_and_body() -> None:
    """The check is that of docs/notify.md, in the words of a receiver."""
    request = webhook.document(OPENED, PAGE, b"secret", 1_000_000_000.5)
    fields = dict(part.split("=", 1) for part in request.headers[webhook.SIGNATURE].split(","))
    assert request.body is not None
    mac = hmac.new(b"secret", fields["t"].encode() + b"." + request.body, hashlib.sha256)
    assert fields == {"t": "1000000000", "v1": mac.hexdigest()}


def test_a_webhook_without_a_secret_is_not_signed() -> None:
    assert webhook.SIGNATURE not in webhook.document(OPENED, PAGE, None, 10**9).headers


def test_every_attempt_at_a_notification_has_the_same_key() -> None:
    keys = {webhook.document(OPENED, PAGE, None, now).headers["Idempotency-Key"] for now in (1, 9)}
    assert keys == {"AAAA:1"}
