"""The configuration file: one clear line for each mistake, never with a secret in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from notifier.configuration.document import PagerDuty, Slack
from notifier.configuration.reading import ConfigurationError, read

ENVIRONMENT = {"SLACK": "https://hooks.slack.com/services/T/B/SECRET", "HTTP": "http://h/x",
               "TOKEN": "SECRET"}  # fmt: skip
GOOD = """
channels:
  team: {kind: slack, url: env:SLACK}
  calls: {kind: pagerduty, routing_key: env:TOKEN}
routes:
  - {to: [calls, team], severity: [P0]}
  - {to: [team], job: ["llm-*"]}
"""


def mistakes(folder: Path, text: str, name: str = "notify.yaml") -> list[str]:
    (folder / name).write_text(text)
    with pytest.raises(ConfigurationError) as why:
        read(folder / name, ENVIRONMENT)
    assert "SECRET" not in "".join(why.value.mistakes)
    assert all("\n" not in each for each in why.value.mistakes)
    return why.value.mistakes


def test_a_file_in_yaml_is_read(tmp_path: Path) -> None:
    (tmp_path / "notify.yaml").write_text(GOOD)
    found = read(tmp_path / "notify.yaml", ENVIRONMENT)
    assert isinstance(found.channels["team"], Slack)
    assert isinstance(found.channels["calls"], PagerDuty)
    assert found.routes[1].job == ("llm-*",)


def test_a_file_in_toml_is_read(tmp_path: Path) -> None:
    (tmp_path / "notify.toml").write_text(
        '[channels.team]\nkind = "slack"\nurl = "env:SLACK"\n[[routes]]\nto = ["team"]\n'
    )
    assert read(tmp_path / "notify.toml", ENVIRONMENT).routes[0].to == ("team",)


@pytest.mark.parametrize(
    ("before", "after", "mistake"),
    [
        ("url: env:SLACK", "url: https://hooks.slack.com/services/T/B/SECRET",
         "channels.team.url: is a secret: write env:NAME or file:PATH, not the value itself"),
        ("env:SLACK", "env:NOTHING", "channels.team.url: the variable NOTHING is not set"),
        ("url: env:SLACK", "url: env:HTTP", "channels.team.url: must begin with https:// "
         "(`allow_http: true` permits http)"),
        ("url: env:SLACK", "url: file:/nonexistent/x",
         "channels.team.url: /nonexistent/x: No such file or directory; give a readable file"),
        (", url: env:SLACK", "", "channels.team.url: is missing"),
        ("kind: slack", "kind: slak",
         "channels.team: kind must be slack, pagerduty, alertmanager or webhook"),
        ("url: env:SLACK", "url: env:SLACK, quue: 3",
         "channels.team.quue: is not known; did you mean queue?"),
        ("url: env:SLACK", "url: env:SLACK, timeout_s: 0",
         "channels.team.timeout_s: input should be greater than or equal to 0.1"),
        ("url: env:SLACK", "url: env:SLACK, ca_file: /nonexistent/x",
         "channels.team.ca_file: /nonexistent/x: No such file or directory"),
        ("[calls, team]", "[call, team]",
         "routes[0].to: no channel 'call'; there are team, calls"),
        ("[calls, team]", "[]", "routes[0].to: must not be empty"),
        ("[calls, team]", "team", "routes[0].to: must be a list"),
        ("routes:", "storm: 3\nroutes:", "storm: must be a table"),
        ("[calls, team]", "[team]", "channels.calls: no route leads to it"),
        ("[P0]", "[P9]", "routes[0].severity[0]: input should be 'P0', 'P1' or 'P2'"),
        ('job: ["llm-*"]', "kind: [switch]", "routes[1].kind[0]: is not one of host, rnic, vswitch,"
         " container, tor, agg, spine, agent, link, pod, fabric, pipeline"),
        ("routes:", "stom: {most: 3}\nroutes:", "stom: is not known; did you mean storm?"),
        ("routes:", "page_url: ftp://x\nroutes:", "page_url: must begin with https://"),
        ("routes:", "watchdog: {url: 'https://u:SECRET@h/'}\nroutes:",
         "watchdog: must not hold a password"),
        ("calls: {", "team: {", "line 4: 'team' is there twice"),
        ("calls: {", "calls: [", "line 4: expected ',' or ']', but got '}'"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_says_where_and_what(
    tmp_path: Path, before: str, after: str, mistake: str
) -> None:
    assert before in GOOD
    assert mistake in mistakes(tmp_path, GOOD.replace(before, after, 1))


def test_a_file_without_a_certificate_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate\n")
    text = GOOD.replace("url: env:SLACK", f"url: env:SLACK, ca_file: {tmp_path / 'ca.pem'}")
    assert mistakes(tmp_path, text) == [
        f"channels.team.ca_file: {tmp_path / 'ca.pem'} holds no certificate"
    ]


def test_all_mistakes_are_found_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("[P0]", "[P9]").replace("env:TOKEN", "TOKEN")
    assert len(mistakes(tmp_path, text)) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD.replace("[P0]", "P0").replace('["llm-*"]', "llm"), [
            "routes[0].severity: must be a list", "routes[1].job: must be a list"]),
        (GOOD.replace("[P0]", "P0").replace("[team]", "[tema]"), [
            "routes[0].severity: must be a list",
            "routes[1].to: no channel 'tema'; there are team, calls"]),
        (GOOD.replace("[P0]", "P0").replace("[calls, team]", "[team]"), [
            "routes[0].severity: must be a list", "channels.calls: no route leads to it"]),
        (GOOD.replace("[calls, team]", "calls"), ["routes[0].to: must be a list"]),
        (GOOD.replace("[P0]", "P0").replace("env:SLACK", "env:NONE"), [
            "routes[0].severity: must be a list",
            "channels.team.url: the variable NONE is not set"]),
        (GOOD.replace("[team]", "[3]"), [
            "routes[1].to[0]: input should be a valid string"]),
        ("channels: {team: {kind: slack, url: env:SLACK}}\nroutes: [{to: [team], severity: P0}]", [
            "routes[0].severity: must be a list"]),
        ("channels: {team: {kind: slack, url: env:SLACK}}\nroutes: []", [
            "routes: must not be empty"]),
        ("channels: {team: {kind: slak}}\nroutes: [{to: [team]}]", [
            "channels.team: kind must be slack, pagerduty, alertmanager or webhook"]),
        ("channels: [team]\nroutes: [{to: [team]}]", ["channels: must be a table"]),
        ("channels: {}\nroutes: [{to: [team]}]", ["channels: must not be empty"]),
        ("routes: {to: team}\nchannels: {team: {kind: slack, url: env:SLACK}}", [
            "routes: must be a list"]),
    ],
)  # fmt: skip
def test_a_mistake_hides_no_other_and_causes_none(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    assert mistakes(tmp_path, text) == expected


@pytest.mark.parametrize("text", ["", "[]", "a: &x [1]\nb: *x", "channels: {}\nroutes: []", "\0"])
def test_a_file_that_holds_no_configuration_is_a_mistake(tmp_path: Path, text: str) -> None:
    assert mistakes(tmp_path, text)


def test_a_secret_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("SECRET\n")
    key.chmod(0o644)
    (found,) = mistakes(tmp_path, GOOD.replace("env:TOKEN", f"file:{key}"))
    assert "chmod 600" in found
    key.chmod(0o600)
    (tmp_path / "notify.yaml").write_text(GOOD.replace("env:TOKEN", f"file:{key}"))
    read(tmp_path / "notify.yaml", ENVIRONMENT)
