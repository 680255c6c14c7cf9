"""Offloaded tables against the datapath: which kind of slow overlay it is. Recorded shapes only:
no rnic of the test machine offloads flows (``builders.agents.host_evidence``)."""

from __future__ import annotations

import pytest
from builders.agents.host_evidence import datapath, dump

from localizer.host_evidence.finding import Question
from localizer.host_evidence.flow_rules import Reading, about_forwarding, about_offloading
from localizer.host_evidence.printed.flow_dumps import parse

VSWITCH, BOX = "vswitch:h1", "container:c1"
SLOW = Question(VSWITCH, (VSWITCH, BOX), "high_latency")
R1, R2 = "10.0.0.1", "10.0.0.2"
WELL = datapath((1, R1, True), (2, R2, True))


def readings(*texts: str, whole: bool = True) -> list[Reading]:
    return [(parse(text), whole) for text in texts]


def decided(*texts: str, question: Question = SLOW, others: str = "") -> tuple[str, str] | None:
    known = {"h1": readings(*texts)} | ({"h2": readings(others)} if others else {})
    found = about_offloading(question, "h1", known)
    return None if found is None else (found.component, str(found.issue_type))


@pytest.mark.parametrize(
    ("texts", "issue_type"),
    [
        ([datapath((1, R1, False), (2, R2, False))], "not_using_rdma"),
        ([datapath((1, R1, True), (2, R2, False))], "suboptimal_flow_offloading"),
        (
            [WELL, datapath((1, R1, False), (2, R2, True), packets=300), WELL],
            "repetitive_flow_offloading",
        ),
    ],
)
def test_flows_that_are_not_in_the_rnic_s_table_name_the_type(
    texts: list[str], issue_type: str
) -> None:
    assert decided(*texts) == (VSWITCH, issue_type)


def test_all_flows_of_one_rnic_missing_is_that_rnic_s_failure() -> None:
    slow = Question(f"rnic:{R2}", (f"rnic:{R2}",), "high_latency")
    text = datapath((1, R1, True), (2, R2, False), (3, R2, False))
    assert decided(text, question=slow) == (f"rnic:{R2}", "offloading_failure")
    assert decided(text, question=slow._replace(tie_set=(f"rnic:{R1}",))) is None


def test_tables_that_agree_decide_nothing() -> None:
    assert decided(WELL, WELL) is None


def test_a_site_that_offloads_nowhere_has_no_missing_flows() -> None:
    none = datapath((1, R1, False), (2, R2, False))
    assert decided(none, others=none) is None
    assert decided(none, others=WELL) == (VSWITCH, "not_using_rdma")


def test_flows_of_few_packets_are_not_offloaded_yet() -> None:
    assert decided(datapath((1, R1, False), packets=2)) is None


def test_the_rnic_s_table_may_be_a_dump_of_its_own() -> None:
    plain = WELL.replace("offloaded:yes, dp:tc", "dp:ovs")
    inside = WELL.splitlines()[1] + "\n"
    own = "$ /usr/bin/ovs-appctl dpctl/dump-flows -m type=offloaded\n"
    assert decided(plain + own + inside) == (VSWITCH, "suboptimal_flow_offloading")
    unknown = plain.replace("dump-flows -m", "dump-flows")
    assert decided(unknown) is None, "it does not say what is offloaded"


def test_a_cut_dump_and_another_symptom_decide_nothing() -> None:
    none = datapath((1, R1, False))
    assert about_offloading(SLOW, "h1", {"h1": readings(none, whole=False)}) is None
    assert decided(none, question=SLOW._replace(symptom="loss")) is None


def test_a_broken_chain_names_the_vswitch_and_its_rule() -> None:
    newest = {h: readings(dump("missing_flow", h))[0] for h in ("host-0", "host-2")}
    tie = ("container:cont-0-0", "vswitch:host-0")
    found = about_forwarding(Question(tie[0], tie, "unconnectivity"), "host-0", newest, {})
    assert found is not None
    assert (found.component, found.issue_type, found.decides) == ("vswitch:host-0", None, True)
    assert "bridge br0n0, table 0: no rule for dl_dst=02:00:00:02:00:00 (and 1 more)" in found.text
    other = Question(tie[0], tie[:1], "unconnectivity")
    assert about_forwarding(other, "host-0", newest, {}) is None, "the vSwitch is not in question"
