"""`skeletonhunter fabric`: builds, breaks and mends a fabric, and removes all of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Consumer

from schemas import topics
from schemas.documents import topology
from schemas.wire import codecs
from skeletonhunter import cli
from streams.kafka.embedded_broker import EmbeddedBroker
from testbed.netns import machine, missing
from testbed.netns.state import State, Store

needs_root = pytest.mark.skipif(
    bool(missing()), reason=f"a namespace fabric needs {', '.join(missing())}"
)
SMALL = ("--hosts", "2", "--nics", "2", "--hosts-per-tor", "1", "--spines", "1")


class Command:
    """The command with a state directory of its own, so that other fabrics are not touched."""

    def __init__(self, state: Path, output: pytest.CaptureFixture[str]) -> None:
        self.state, self._output = state, output
        self.name = f"t{os.getpid() % 1_000_000}"
        self.out = self.err = ""

    def __call__(self, *words: str) -> int:
        """Run the command in this process; its output is in ``out`` and ``err``."""
        at = words.index("--") if "--" in words else len(words)
        with pytest.raises(SystemExit) as left:
            cli.main(["fabric", *words[:at], "--state", str(self.state), *words[at:]])
        self.out, self.err = self._output.readouterr()
        assert isinstance(left.value.code, int)
        return left.value.code

    def outside(self, *words: str) -> int:
        """Run the command in a process of its own: one that starts processes which stay."""
        command = [sys.executable, "-m", "skeletonhunter.cli", "fabric", *words]
        done = subprocess.run(
            [*command, "--state", str(self.state)], capture_output=True, text=True, check=False
        )
        self.out, self.err = done.stdout, done.stderr
        return done.returncode

    def namespaces(self) -> list[str]:
        return machine.present(f"skh-{self.name}-")

    def state_file(self) -> State:
        return Store(self.state).load(self.name)


@pytest.fixture
def fabric(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Command]:
    """The command; a fabric that a test leaves is removed."""
    for name in [name for name in os.environ if name.startswith("SKH_")]:
        monkeypatch.delenv(name)
    command = Command(tmp_path / "state", capsys)
    yield command
    if command.namespaces():
        command("down", command.name)


def until(reached: Callable[[], object], within_s: float, what: str) -> None:
    deadline = time.monotonic() + within_s
    while not reached():
        assert time.monotonic() < deadline, f"not within {within_s} s: {what}"
        time.sleep(0.05)  # between two looks


@pytest.mark.netns
@pytest.mark.slow
@needs_root
class TestOnARealFabric:
    """As root."""

    def test_a_fabric_stays_up_until_down_removes_all_of_it(
        self, fabric: Command, tmp_path: Path
    ) -> None:
        document = tmp_path / "topology.json"
        assert fabric("up", "--name", fabric.name, *SMALL, "--topology", str(document)) == 0
        assert len(fabric.namespaces()) == 1 + 4 + 2 + 2
        assert topology.load(document).fabric == fabric.name
        assert fabric("status") == 0
        assert f"fabric '{fabric.name}': up; 9 of 9 namespaces" in fabric.out
        assert fabric("exec", "host-0", "--", "ping", "-q", "-c", "1", "10.1.2.1") == 0
        assert fabric("exec", "host-0", "--", "false") == 1, "the command's own exit code"
        assert fabric("down") == 0
        assert fabric.namespaces() == []
        assert list(fabric.state.glob("*.json")) == []

    def test_a_fault_is_listed_while_it_lasts(self, fabric: Command) -> None:
        fabric("up", "--name", fabric.name, *SMALL)
        where = "link:spine:spine-0|tor:tor-0"
        assert fabric("fault", "create", "network", "loss", "--percent", "100", "--at", where) == 0
        assert fabric.out == f"f1 (network loss at {where})\n"
        assert fabric("fault", "list") == 0
        assert "f1 (network loss" in fabric.out
        assert "nft table skh_f1 in tor-0" in fabric.out
        assert fabric("exec", "host-0", "--", "ping", "-q", "-c1", "-W1", "10.1.2.1") == 1
        assert fabric("fault", "destroy", "all") == 0
        assert fabric("exec", "host-0", "--", "ping", "-q", "-c1", "-W1", "10.1.2.1") == 0
        assert fabric("fault", "list") == 0
        assert fabric.out == ""

    def test_a_delay_outlives_the_command_that_made_it(self, fabric: Command) -> None:
        fabric("up", "--name", fabric.name, *SMALL)
        delay = ("network", "delay", "--time", "20", "--at", "rnic:10.1.0.1")
        assert fabric.outside("fault", "create", *delay) == 0
        assert fabric.out.startswith("f1 ")
        (helper, *_) = fabric.state_file().faults[0].helpers
        assert machine.alive(helper)
        assert fabric("fault", "destroy", "f1") == 0
        assert not machine.alive(helper)

    def test_agents_write_what_diagnose_reads_and_can_be_killed_and_starved(
        self, fabric: Command, tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        assert (
            fabric.outside("up", "--name", fabric.name, *SMALL, "--agents", "--out", str(out)) == 0
        )
        pings = out / "pings.ndjson"
        until(lambda: pings.stat().st_size > 20_000, 300, "records")
        lines = pings.read_bytes()
        assert b'"overlay"' in lines
        assert b'"underlay"' in lines
        agents = fabric.state_file().agents
        assert {agent.node for agent in agents} == {"host-0", "host-1", "cont-0-0", "cont-1-0"}

        assert fabric("fault", "create", "process", "kill", "--at", "agent:host-1") == 0
        assert [agent.node for agent in agents if machine.alive(agent.process)] == [
            "host-0", "cont-0-0",
        ]  # fmt: skip
        assert fabric.outside("fault", "destroy", "all") == 0
        now = fabric.state_file().agents
        assert all(machine.alive(agent.process) for agent in now)

        load = ("cpu", "load", "--percent", "90", "--period", "0.5", "--at", "agent:host-0")
        assert fabric.outside("fault", "create", *load) == 0
        halted = [agent.process for agent in now if agent.node_sn == "host-0"]
        until(lambda: all(machine.stopped(each) for each in halted), 300, "agents are stopped")
        assert fabric("fault", "destroy", "all") == 0
        assert not any(machine.stopped(each) for each in halted)

        written = (out / "truth.json").read_text()
        assert "agent_down" in written
        assert "agent_starved" in written
        relay = fabric.state_file().collector
        assert relay is not None
        assert machine.alive(relay)
        assert fabric("down") == 0
        left = [*(agent.process for agent in now), relay]
        assert not any(machine.alive(each) for each in left)
        topology_file, beats = str(out / "topology.json"), str(out / "heartbeats.ndjson")
        with pytest.raises(SystemExit) as done:
            cli.main(["diagnose", str(pings), "--topology", topology_file, "--heartbeats", beats])
        assert done.value.code in (0, 1)

    def test_records_go_to_kafka_where_it_is_set(
        self, fabric: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broker = EmbeddedBroker()
        monkeypatch.setenv("SKH_KAFKA", broker.bootstrap)
        out = tmp_path / "out"
        assert (
            fabric.outside("up", "--name", fabric.name, *SMALL, "--agents", "--out", str(out)) == 0
        )
        settings = {"bootstrap.servers": broker.bootstrap, "group.id": "test",
                    "auto.offset.reset": "earliest"}  # fmt: skip
        consumer = Consumer(settings)
        consumer.subscribe([topics.PINGS.name])
        message = consumer.poll(30.0)
        consumer.close()
        assert message is not None
        assert message.error() is None
        batch = codecs.decode(message.value(), topics.ARROW).batch
        assert batch.column("src_idc").to_pylist()[0] == fabric.name
        assert not (out / "pings.ndjson").exists()
        assert fabric("down") == 0

    def test_down_removes_what_a_killed_up_left_behind(self, fabric: Command) -> None:
        command = [
            sys.executable, "-m", "skeletonhunter.cli", "fabric", "up", "--name", fabric.name,
            "--hosts", "16", "--containers", "2", "--state", str(fabric.state),
        ]  # fmt: skip
        building = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until(lambda: len(fabric.namespaces()) > 5, 300, "some namespaces")
        building.send_signal(signal.SIGKILL)
        building.wait()
        assert fabric("status") == 0
        assert "incomplete: skeletonhunter fabric down" in fabric.out
        assert fabric("down", fabric.name) == 0
        assert fabric.namespaces() == []
        assert list(fabric.state.glob("*.json")) == []

    def test_down_removes_the_agents_that_a_killed_up_had_started(
        self, fabric: Command, tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        command = [
            sys.executable, "-m", "skeletonhunter.cli", "fabric", "up", "--name", fabric.name,
            "--hosts", "16", "--agents", "--out", str(out), "--state", str(fabric.state),
        ]  # fmt: skip
        building = subprocess.Popen(command, stdout=subprocess.DEVNULL)

        def inside() -> list[machine.Process]:
            return machine.processes_in(fabric.namespaces())

        until(lambda: len(inside()) > 3, 300, "some agents")
        building.send_signal(signal.SIGKILL)
        building.wait()
        agents = inside()
        assert fabric("down", fabric.name) == 0
        assert fabric.namespaces() == []
        assert not any(machine.alive(agent) for agent in agents)
        until(lambda: not (out / "relay.sock").exists(), 300, "the relay has ended by itself")

    def test_64_hosts_with_128_containers_come_up_within_a_minute_and_reach_each_other(
        self, fabric: Command
    ) -> None:
        begin = time.monotonic()
        shape = ("--hosts", "64", "--containers", "2", "--spines", "2")
        assert fabric("up", "--name", fabric.name, *shape) == 0
        assert time.monotonic() - begin < 60
        assert len(fabric.namespaces()) == 2 + 32 + 64 + 128
        plan = fabric.state_file().plan
        addresses = " ".join(plan.container_address(host, 1, 1) for host in range(1, 64))
        script = f"for a in {addresses}; do ping -q -c 1 -W 2 $a >/dev/null || echo $a; done"
        everybody = machine.inside(f"skh-{fabric.name}-cont-0-1", ["sh", "-c", script])
        assert machine.call(everybody) == "", "who did not answer"
        assert fabric("down", fabric.name) == 0
        assert fabric.namespaces() == []

    def test_a_second_fabric_of_the_same_name_is_refused(self, fabric: Command) -> None:
        fabric("up", "--name", fabric.name, *SMALL)
        assert fabric("up", "--name", fabric.name, *SMALL) == 2
        assert fabric.err.count("\n") == 1
        assert f"fabric '{fabric.name}' exists already" in fabric.err

    @pytest.mark.parametrize(
        ("words", "complaint"),
        [
            (("network", "loss", "--percent", "5", "--at", "tor:tor-9"), "there are tor:tor-0"),
            (("network", "loss", "--percent", "500", "--at", "tor:tor-0"), "at most 100"),
            (("network", "melt", "--at", "tor:tor-0"), "no fault 'network melt'"),
            (("network", "delay", "--time", "1", "--time-us", "1", "--at", "x"), "one of them"),
        ],
    )
    def test_a_fault_that_cannot_be_created_is_refused_in_one_line(
        self, fabric: Command, words: tuple[str, ...], complaint: str
    ) -> None:
        fabric("up", "--name", fabric.name, *SMALL)
        assert fabric("fault", "create", *words) == 2
        assert fabric.err.count("\n") == 1
        assert complaint in fabric.err

    def test_an_unknown_node_is_refused(self, fabric: Command) -> None:
        fabric("up", "--name", fabric.name, *SMALL)
        assert fabric("exec", "host-7", "--", "true") == 2
        assert "no node 'host-7' here" in fabric.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("down", "absent"), "no fabric 'absent'"),
        (("exec", "host-0", "--", "true"), "0 fabrics in"),
        (("fault", "list"), "0 fabrics in"),
        (("up", "--name", "No-Name"), "give a small letter"),
        (("up", "--hosts", "9000"), "at most 120 ToRs"),
        (("play", "--only", "bad_luck"), "--only: no bad_luck; there are crc_error"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    fabric: Command, words: tuple[str, ...], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "missing", list[str])
    if words[0] == "play":
        with pytest.raises(SystemExit) as left:
            cli.main(["fabric", *words])
        assert left.value.code == 2
        return
    assert fabric(*words) == 2
    assert fabric.err.count("\n") == 1
    assert complaint in fabric.err


def test_up_without_root_is_refused(fabric: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)
    assert fabric("up") == 2
    assert fabric.err == "skeletonhunter: a namespace fabric needs root\n"


def test_status_without_a_fabric_names_the_directory(fabric: Command) -> None:
    assert fabric("status") == 0
    assert fabric.out == f"no fabric in {fabric.state}\n"


def test_a_state_file_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    from testbed.netns import Plan

    state = State(name="a", plan=Plan(), builder=machine.Process(1, 2), created_ns=3)
    store = Store(tmp_path)
    store.save(state)
    assert msgspec.json.encode(store.load("a")) == msgspec.json.encode(state)
