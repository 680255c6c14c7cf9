"""path_id: one stable number for each five-tuple path."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from builders.schemas.compiled_helper import compiled, in_python
from builders.schemas.record_formats import BARE, FULL, table
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import identity
from schemas.documents import ping
from schemas.identity import TextHashes
from schemas.wire import codecs


def path_id(row: dict[str, Any]) -> int:
    batch = codecs.conform(table([{k: v for k, v in row.items() if v is not None}])).batch
    return int(identity.path_ids(batch)[0])


def reference(row: dict[str, Any]) -> int:
    """The definition in Python's own integers."""
    mask = 2**64 - 1

    def mix(h: int) -> int:
        h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & mask
        h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & mask
        return h ^ (h >> 31)

    def container(end: str) -> str:
        """The container id, else the host, else the rnic, else the address."""
        names = (f"{end}_node_id", f"{end}_node_sn", f"{end}_real_ip", f"{end}_ip")
        return next(str(row[name]) for name in names if row.get(name))

    texts = [
        row.get("src_idc") or "default", row["agent_type"], row["task_type"],
        container("src"), row["src_ip"], container("dst"), row["dst_ip"],
    ]  # fmt: skip
    fields = [int.from_bytes(blake2b(t.encode(), digest_size=8).digest(), "little") for t in texts]
    h = 0
    for field in [*fields, row.get("src_port") or 0, row.get("dst_port") or 0]:
        h = mix(h ^ field)
    return h


@pytest.mark.parametrize(
    ("row", "known"),
    [
        (BARE, 0x0B255DAFA3CC1714),
        (FULL, 0x00BABA4A2ED2D87D),
    ],
)
def test_the_id_of_a_known_path_never_changes(row: dict[str, Any], known: int) -> None:
    assert f"{path_id(row):016x}" == f"{known:016x}"


names = st.text(max_size=6) | st.none()


@given(
    changed=st.fixed_dictionaries(
        {},
        optional={
            **{n: names for n in ping.NAMES if n.endswith(("node_id", "node_sn", "idc"))},
            "src_port": st.integers(0, 65_535) | st.none(),
            "dst_port": st.integers(0, 65_535) | st.none(),
            "agent_type": st.sampled_from(ping.LAYERS),
            "task_type": st.sampled_from(ping.TASK_TYPES),
        },
    )
)
@settings(deadline=None, max_examples=100)
def test_a_path_id_follows_the_written_definition(changed: dict[str, Any]) -> None:
    row = {**FULL, **changed}
    assert path_id(row) == reference(row)


texts = st.sampled_from(["", "a", "é", "box-17", "a name of 27 characters ...", "x" * 300]) | names
columns = st.fixed_dictionaries(
    {name: st.lists(texts, min_size=9, max_size=9) for name in ("src_ip", "dst_ip", "agent_type")},
    optional={
        name: st.lists(texts, min_size=9, max_size=9)
        for name in ping.NAMES
        if name.endswith(("node_id", "node_sn", "real_ip", "idc")) or name == "task_type"
    },
)


@given(columns, st.integers(0, 8), st.integers(1, 9))
@settings(deadline=None, max_examples=100)
def test_the_helper_computes_the_ids_that_python_does(
    values: dict[str, list[str | None]], first: int, rows: int
) -> None:
    compiled()
    arrays = {name: pa.array(column, pa.string()) for name, column in values.items()}
    batch = pa.RecordBatch.from_pydict(arrays).slice(first, rows)
    with in_python():
        expected = identity.path_ids(batch)
    np.testing.assert_array_equal(identity.path_ids(batch), expected)


def test_more_texts_than_are_remembered_have_the_same_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled()
    monkeypatch.setattr("schemas.identity._hashes.max_texts", 50)
    for start in (0, 90, 0):
        rows = [{**BARE, "src_ip": f"10.0.0.{n}"} for n in range(start, start + 100)]
        batch = codecs.conform(table(rows)).batch
        with in_python():
            expected = identity.path_ids(batch)
        np.testing.assert_array_equal(identity.path_ids(batch), expected)


def test_texts_that_are_dictionaries_have_the_same_ids() -> None:
    batch = codecs.conform(table([FULL, BARE])).batch
    index = batch.schema.get_field_index("src_ip")
    encoded = batch.set_column(index, "src_ip", batch.column("src_ip").dictionary_encode())
    np.testing.assert_array_equal(identity.path_ids(encoded), identity.path_ids(batch))


FIELDS = {
    "src_idc": "f2", "agent_type": "overlay", "task_type": "TCP_PING",
    "src_node_id": "box-9", "src_ip": "10.0.0.9", "dst_node_id": "box-9", "dst_ip": "10.0.0.9",
    "src_port": 9, "dst_port": 9,
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_a_path_id_depends_on_every_field_of_the_identity(name: str) -> None:
    assert path_id({**FULL, name: FIELDS[name]}) != path_id(FULL)


OTHERS = {
    "ping_time": 5, "dial": "timeout", "latency": 3.0, "loss_rate": 1.0, "dscp": 3, "sent": 9,
    "src_asw": "asw-9", "dst_pod": "pod-9", "src_tenant_id": "t-9", "route": "[]",
    "src_real_ip": "10.64.0.9", "src_node_sn": "host-9",
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_a_path_id_depends_on_no_other_field(name: str) -> None:
    assert path_id({**FULL, name: OTHERS[name]}) == path_id(FULL)


def test_the_two_directions_of_a_path_have_different_ids() -> None:
    swapped = {
        {"src": "dst", "dst": "src"}.get(name[:3], name[:3]) + name[3:]: value
        for name, value in FULL.items()
        if name != "dst_security_domain"
    }
    assert path_id(swapped) != path_id(FULL)


@pytest.mark.parametrize(
    ("missing", "stands_in"),
    [
        (("node_id",), "node_sn"),
        (("node_id", "node_sn"), "real_ip"),
        (("node_id", "node_sn", "real_ip"), "ip"),
    ],
)
def test_an_endpoint_without_container_is_identified_by_host_then_rnic_then_address(
    missing: tuple[str, ...], stands_in: str
) -> None:
    row = {**FULL, **{f"src_{name}": None for name in missing}}
    assert path_id(row) == path_id({**FULL, "src_node_id": FULL[f"src_{stands_in}"]})


def test_an_empty_fabric_is_the_default_fabric() -> None:
    assert path_id({**FULL, "src_idc": ""}) == path_id({**FULL, "src_idc": ping.DEFAULT_FABRIC})


rows = st.lists(
    st.fixed_dictionaries(
        {
            "src_ip": st.sampled_from("abc"),
            "dst_ip": st.sampled_from("abc"),
            "src_idc": st.sampled_from(["", "f1", "f2"]),
            "src_port": st.integers(0, 3) | st.none(),
        }
    ).map(lambda row: {**FULL, **row}),
    min_size=1,
    max_size=8,
)


@given(rows=rows, order=st.randoms())
@settings(deadline=None, max_examples=60)
def test_path_ids_do_not_depend_on_column_order_or_dictionary_encoding(
    rows: list[dict[str, Any]], order: Any
) -> None:
    batch = codecs.conform(table(rows)).batch
    names = list(batch.schema.names)
    order.shuffle(names)
    coded = [
        batch.column(n).dictionary_encode() if batch.column(n).type == pa.string() else
        batch.column(n)
        for n in names
    ]  # fmt: skip
    again = pa.RecordBatch.from_arrays(coded, names)
    assert identity.path_ids(again).tolist() == identity.path_ids(batch).tolist()
    assert identity.path_ids(batch).tolist() == [reference(row) for row in rows]


def test_a_million_paths_have_a_million_different_ids() -> None:
    ports = pa.array(list(range(1000)) * 1000, pa.int32())
    others = pa.array([n // 1000 for n in range(1_000_000)], pa.int32())
    one = codecs.conform(table([BARE])).batch
    columns = {name: pa.repeat(one.column(name)[0], len(ports)) for name in one.schema.names}
    batch = pa.RecordBatch.from_pydict({**columns, "src_port": ports, "dst_port": others})
    assert len(set(identity.path_ids(batch).tolist())) == 1_000_000


def test_text_hashes_are_cached_up_to_a_number_of_texts() -> None:
    hashes = TextHashes(max_texts=100)
    known = hashes.of("host-1")
    for n in range(1000):
        hashes.of(f"flood-{n}")
    assert len(hashes.cached) <= 100
    assert hashes.of("host-1") == known


def test_text_hashes_are_cached_up_to_a_number_of_characters() -> None:
    hashes = TextHashes(max_chars=100_000)
    for number in range(100):
        hashes.of("n" * 4096 + str(number))
    assert 0 < hashes.chars <= 100_000 + 4100


def test_the_id_of_one_path_is_that_of_its_row() -> None:
    batch = codecs.conform(table([FULL])).batch
    texts = [identity.filled(batch, name)[0].as_py() for name in identity.IDENTITY]
    one = identity.path_id(texts, FULL["src_port"], FULL["dst_port"])
    assert one == int(identity.path_ids(batch)[0])
