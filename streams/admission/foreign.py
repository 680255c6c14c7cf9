"""Records that are not their sender's: the rows whose source is another host or container. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas import identity
from schemas.signing.headers import Claim
from schemas.wire.batches import I64
from streams.admission.ownership import Ownership
from streams.admission.parameters import DEFAULT

_SHOWN: Final = DEFAULT.name_characters

#: Where the names of a path's identity are not the record's columns.
_COLUMN: Final = {"fabric": "src_idc"}

I32 = npt.NDArray[np.int32]
Bool = npt.NDArray[np.bool_]
Claims = Sequence[Claim | None]
_Wanted = Callable[[Claim], str]


class Foreign(NamedTuple):
    """A row of a batch, the column that gives it away, and why; the reason names both sides."""

    row: int
    column: str
    reason: str


def foreign(
    batch: pa.RecordBatch, message: I64, claims: Claims, ownership: Ownership
) -> list[Foreign]:
    """Rows whose source is not the host (or the relay's client) that signed their message.

    batch    ping records that ``schemas.wire.codecs`` accepted
    message  (rows,) index of each row's message into ``claims``
    claims   the verified sender of each message; None: unsigned, nothing is known of it
    returns  at most one entry a row, in the order of the rows
    """
    if not batch.num_rows or not any(claims):
        return []
    found: dict[int, Foreign] = {}
    columns = {
        name: identity.filled(batch, name)
        for name in ("fabric", "src_node_sn", "src_node_id", "src_real_ip", "src_tenant_id")
    }
    wanted: list[tuple[str, _Wanted]] = [
        ("fabric", lambda claim: claim.fabric),
        ("src_node_sn", lambda claim: claim.sender),
        ("src_node_id", lambda claim: claim.client),
        ("src_tenant_id", lambda claim: claim.tenant),
    ]
    for name, of in wanted:
        _differing(found, name, columns[name], message, claims, of)
    _owned(found, columns, message, claims, ownership)
    return [found[row] for row in sorted(found)]


def _differing(
    found: dict[int, Foreign],
    name: str,
    values: pa.Array,
    message: I64,
    claims: Claims,
    wanted: _Wanted,
) -> None:
    """Note the rows whose value is not the one that their message's sender stands for."""
    by_message = [(claim and wanted(claim)) or None for claim in claims]
    if not any(by_message):
        return
    expected = pa.array(by_message, pa.string()).take(pa.array(message))
    differs = pc.not_equal(values, expected).fill_null(False)
    for row in _true(differs.to_numpy(zero_copy_only=False)):
        claim = claims[message[row]]
        assert claim is not None  # noqa: S101 — what is unsigned has nothing to differ from
        value, right = values[row].as_py()[:_SHOWN], wanted(claim)
        reason = f"{name} {value!r} is not {right!r}, for which {_who(claim)} may send"
        found.setdefault(row, Foreign(row, _COLUMN.get(name, name), reason))


def _owned(
    found: dict[int, Foreign],
    columns: dict[str, pa.Array],
    message: I64,
    claims: Claims,
    ownership: Ownership,
) -> None:
    """Note the rows that name a container, host or rnic known to be another host's or tenant's."""
    node, rnic = _Coded(columns["src_node_id"]), _Coded(columns["src_real_ip"])
    tenant = _Coded(columns["src_tenant_id"])
    for fabric in ownership.fabrics & {claim.fabric for claim in claims if claim is not None}:
        senders = [c.sender if c is not None and c.fabric == fabric else None for c in claims]
        for name, coded, hosts_of in (
            ("src_node_id", node, ownership.hosts_of_node),
            ("src_real_ip", rnic, ownership.hosts_of_rnic),
        ):
            hosts = [hosts_of(fabric, value) for value in coded.names]
            for row in _of_others(coded.code, hosts, senders, message):
                claim, at = claims[message[row]], coded.code[row]
                assert claim is not None  # noqa: S101 — only senders have others
                reason = (
                    f"{name} {coded.names[at][:_SHOWN]!r} is of {hosts[at][-1]!r}, "
                    f"not of {_who(claim)}"
                )
                found.setdefault(row, Foreign(row, name, reason))
        known = [ownership.tenant(fabric, box) for box in node.names]
        if any(known):
            codes = {name: code for code, name in enumerate(tenant.names)}
            right = np.array([codes.get(name, -1) if name else -2 for name in known])[node.code]
            stated = np.array([name != "" for name in tenant.names])[tenant.code]
            here = np.array([sender is not None for sender in senders])[message]
            for row in _true(here & stated & (right != -2) & (right != tenant.code)):
                claim, at = claims[message[row]], node.code[row]
                assert claim is not None  # noqa: S101
                reason = (
                    f"src_tenant_id {tenant.names[tenant.code[row]][:_SHOWN]!r} from "
                    f"{_who(claim)}: container {node.names[at][:_SHOWN]!r} is of {known[at]!r}"
                )
                found.setdefault(row, Foreign(row, "src_tenant_id", reason))


class _Coded:
    """A text column as (rows,) codes into its distinct names."""

    def __init__(self, values: pa.Array) -> None:
        encoded = values.dictionary_encode()
        self.names: list[str] = encoded.dictionary.to_pylist()
        self.code: I32 = encoded.indices.to_numpy(zero_copy_only=False)


def _of_others(
    code: I32, hosts: list[tuple[str, ...]], senders: list[str | None], message: I64
) -> list[int]:
    """Rows whose name has known hosts, and their sender is none of them."""
    number = {sender: at for at, sender in enumerate(senders) if sender is not None}
    only = [number.get(of[0], -2) if len(of) == 1 else -3 if of else -1 for of in hosts]
    owner = np.array(only)[code]  # -1: not known, -2: somebody who sent nothing here, -3: several
    sender = np.array([-1 if s is None else number[s] for s in senders])[message]
    rows = _true((sender >= 0) & (owner != -1) & (owner != sender))
    return [row for row in rows if senders[message[row]] not in hosts[code[row]]]


def _true(mask: Bool) -> list[int]:
    rows: list[int] = np.flatnonzero(mask).tolist()
    return rows


def _who(claim: Claim) -> str:
    return f"{claim.client!r} of host {claim.sender!r}" if claim.client else f"{claim.sender!r}"
