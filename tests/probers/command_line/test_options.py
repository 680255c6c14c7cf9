"""Options: invalid usage is one line on stderr; keys come from files or the environment."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from builders.agents.site import SECRET, Site

from probers.agent import main
from probers.command_line import options
from probers.command_line.options import UsageError
from probers.publishing.relay import ClientIdentity
from schemas.signing.keys import KeyRing

RING = KeyRing({"k1": b"m" * 32})
KEY = RING.host_key("f1", "host-1")


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "message"),
    [
        ([], {}, 2, "required"),
        (["--ping-list", "/nowhere", "--publish", "file:-", "--node-sn", "a"], {}, 2, "probe key"),
        (["--ping-list", "/nowhere", "--publish", "file:-", "--node-sn", "a"],
         {"SKH_PROBE_KEY": SECRET}, 2, "/nowhere: No such file"),
        (["--ping-list", "L", "--publish", "ftp:x", "--node-sn", "a"],
         {"SKH_PROBE_KEY": SECRET}, 2, "give unix:PATH"),
        (["--ping-list", "L", "--publish", "file:-", "--node-sn", "a", "--key-file", "/nowhere"],
         {}, 2, "--key-file /nowhere: No such file or directory; give a readable file"),
        (["--ping-list", "L", "--publish", "file:-", "--node-sn", "host-a", "--key-file", "OPEN"],
         {}, 2, "run: chmod 600 "),
        (["--ping-list", "L", "--publish", "file:-", "--node-sn", "a", "--allow-cidr", "x"],
         {"SKH_PROBE_KEY": SECRET}, 2, "give a network such as"),
        (["--ping-list", "L", "--publish", "file:-", "--node-sn", "b"],
         {"SKH_PROBE_KEY": SECRET}, 2, "is for node_sn 'host-a'"),
        (["--ping-list", "L", "--publish", "unix:/nowhere/x", "--node-sn", "host-a",
          "--connect-timeout", "0.1"], {"SKH_PROBE_KEY": SECRET}, 3, "is the relay"),
        (["--ping-list", "L", "--publish", "kafka:127.0.0.1:1", "--node-sn", "host-a",
          "--connect-timeout", "0.2"], {"SKH_PROBE_KEY": SECRET}, 3, "no broker answered"),
    ],
)  # fmt: skip
def test_invalid_usage_is_one_line_with_its_exit_code(
    site: Site, arguments: list[str], environment: dict[str, str], code: int, message: str
) -> None:
    site.write_list([site.ips[1]])
    (site.directory / "open").touch(mode=0o644)
    (site.directory / "open").write_text(SECRET)
    places = {"L": str(site.directory / "list.json"), "OPEN": str(site.directory / "open")}
    arguments = [places.get(argument, argument) for argument in arguments]
    done = subprocess.run(
        [sys.executable, "-m", "probers.agent.main", *arguments],
        capture_output=True, text=True, check=False, timeout=600, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert SECRET not in done.stderr


@pytest.mark.parametrize("module", ["probers.agent", "probers.agent.main"])
def test_the_help_text_shows_an_example(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True
    )
    assert "example:" in done.stdout
    assert "--allow-cidr 10.0.0.0/8" in done.stdout
    assert not done.stderr


def test_the_health_server_listens_on_loopback_only_unless_it_is_said_who_may_ask(
    site: Site,
) -> None:
    for place in ("0.0.0.0:9000", "10.0.0.1:9000", "localhost", ":9000", "127.0.0.1:70000"):
        process = site.start("--health-listen", place)
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 2
        assert b"is not a loopback address" in errors


def test_the_health_server_listens_elsewhere_if_it_is_said_who_may_ask() -> None:
    more = ["--publish", "file:-", "--node-sn", "h", "--ping-list", "l.json", "--health-from",
            "10.9.0.0/16", "--health-from", "fd00::/8", "--health-listen"]  # fmt: skip
    found = options.parse([*more, "10.0.0.1:9000"])
    assert found.health_listen == ("10.0.0.1", 9000)
    assert [str(each) for each in found.health_from] == ["10.9.0.0/16", "fd00::/8"]
    for place in ("0.0.0.0:9000", "[::]:9000"):
        with pytest.raises(SystemExit):
            options.parse([*more, place])


def test_several_controllers_are_given_by_several_options_or_with_commas(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text("skh_abc")
    more = ["--token-file", str(token), "--publish", "file:-", "--node-sn", "h", "--controller"]
    found = options.parse([*more, "http://a:1,http://b:2", "--controller", "http://c:3"])
    assert found.controllers == ("http://a:1", "http://b:2", "http://c:3")
    with pytest.raises(options.UsageError, match="--controller b:2: give an http"):
        options.parse([*more, "http://a:1,b:2"])
    with pytest.raises(options.UsageError, match="5 URLs; give 4 at most"):
        options.parse([*more, ",".join(f"http://{letter}" for letter in "abcde")])


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "sender.key"
    file.touch(mode=0o600)
    file.write_text(KEY.document() + "\n")
    return file


def parse(publish: str = "file:-", *more: str, node_sn: str = "host-1") -> options.Options:
    return options.parse(["--ping-list", "x", "--publish", publish, "--node-sn", node_sn, *more])


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SKH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SKH_PROBE_KEY", "a key for the tests only")


def test_the_key_file_names_the_host_and_its_fabric(
    key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = parse("kafka:broker:9092", "--sender-key-file", str(key_file))
    assert (found.sender_key, found.fabric) == (KEY, "f1")
    monkeypatch.setenv("SKH_SENDER_KEY_FILE", str(key_file))
    assert parse("kafka:broker:9092").sender_key == KEY
    assert KEY.secret.hex() not in repr(found)


def test_an_agent_without_a_sender_key_publishes_to_loopback_only_unless_unsigned_is_given() -> (
    None
):
    with pytest.raises(UsageError, match=r"without --sender-key-file.*--unsigned") as why:
        parse("kafka:broker:9092,127.0.0.1:9092")
    assert "\n" not in str(why.value)
    for place in ("kafka:127.0.0.1:9092,[::1]:9092,localhost:1", "unix:/run/relay.sock", "file:-"):
        assert parse(place).sender_key is None
    assert parse("kafka:broker:9092", "--unsigned").sender_key is None


def test_a_sender_key_of_another_host_or_readable_by_others_is_refused(
    key_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--ping-list", "x", "--publish", "file:-", "--sender-key-file", str(key_file)]
    assert main.main([*arguments, "--node-sn", "host-2"]) == 2
    assert main.main([*arguments, "--node-sn", "host-1", "--fabric", "f2"]) == 2
    key_file.chmod(0o640)
    assert main.main([*arguments, "--node-sn", "host-1"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "not of 'host-2'" in lines[0]
    assert "chmod 600" in lines[2]
    assert KEY.secret.hex() not in "".join(lines)


def test_kafka_options_come_from_the_environment_and_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = tmp_path / "password"
    password.touch(mode=0o600)
    password.write_text("s3cret\n")
    monkeypatch.setenv("SKH_KAFKA_OPTIONS", '{"sasl.mechanism": "PLAIN", "linger.ms": 7}')
    monkeypatch.setenv("SKH_KAFKA_PASSWORD_FILE", str(password))
    found = parse("file:-", "--kafka-option", "linger.ms=9")
    assert found.kafka == {"sasl.mechanism": "PLAIN", "linger.ms": "9", "sasl.password": "s3cret"}
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    "pair", ["sasl.password=s3cret", "ssl.key.password=s3cret", "linger.ms", "group.id=x", "=x"]
)
def test_secrets_and_invalid_kafka_options_are_refused_on_the_command_line(pair: str) -> None:
    with pytest.raises(UsageError) as why:
        parse("file:-", "--kafka-option", pair)
    assert "s3cret" not in str(why.value)


def test_an_option_that_librdkafka_does_not_know_is_invalid_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--ping-list", "x", "--publish", "kafka:127.0.0.1:1", "--node-sn", "host-1"]
    assert main.main([*arguments, "--kafka-option", "no.such=1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no.such" in line


def test_a_socket_may_belong_to_one_container(tmp_path: Path) -> None:
    found = parse(
        "file:-", "--relay-listen", "/a", "--relay-listen", "/b=box-1,t1", "--relay-listen",
        "/c=box-2",
    )  # fmt: skip
    assert found.relay_listen == (
        ("/a", None), ("/b", ClientIdentity("box-1", "t1")), ("/c", ClientIdentity("box-2", "")),
    )  # fmt: skip


def test_a_hosts_agent_serves_the_rnics_and_its_containers_agents_the_overlay() -> None:
    def parts(*arguments: str) -> tuple[str | None, str]:
        found = options.parse(["--publish", "file:-", "--node-sn", "host-1", *arguments])
        return found.layer, found.scope

    assert parts("--ping-list", "x", "--containers-listen", "/s") == ("underlay", "underlay")
    assert parts("--host-agent", "/s", "--node-id", "box-1") == ("overlay", "overlay/box-1")
    assert parts("--host-agent", "/s") == ("overlay", f"overlay/{socket.gethostname()}")
    assert parts("--ping-list", "x") == (None, "")
    for wrong in (
        ["--host-agent", "/s", "--layer", "underlay"],
        ["--ping-list", "x", "--containers-listen", "/s", "--layer", "overlay"],
        ["--ping-list", "x", "--containers-listen", "/s", "--node-id", "box-1"],
        ["--host-agent", "/t", "--containers-listen", "/s"],
    ):
        with pytest.raises(UsageError):
            parts(*wrong)
