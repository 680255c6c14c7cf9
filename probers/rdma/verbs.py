"""The RDMA device: UD queue pairs through pyverbs, which is imported when the first is opened.

pyverbs comes from the distribution (python3-pyverbs): the package of that name on PyPI builds all
of rdma-core. Time stamps are software's: a message is stamped as sent just before it is given to
the device (soft-RoCE sends it at once, long before its completion is polled), and as received when
its completion is polled.
"""

from __future__ import annotations

from collections import deque
from importlib import import_module
from time import monotonic_ns
from types import ModuleType
from typing import Any, Final

from probers.net import packet
from probers.rdma.engine import Arrived, Sent
from probers.rdma.packet import GRH_BYTES, QpAddress, ip_of_gid, source_ip

_PORT: Final = 1
#: Both ends must use the same one. It keeps other programs' messages out, and is no secret.
_QKEY: Final = 0x534B48
_RECEIVES: Final = 64  # buffers posted per queue pair
_SENDS: Final = 64
_HOP_LIMIT: Final = 64
_SLOT: Final = 128
_SEND_FLAG: Final = 1 << 32  # in a work request's number: a send, not a receive


class RdmaError(RuntimeError):
    """No device, or it failed; one line: what, where, what to do."""


def device_names() -> list[str]:
    """The machine's RDMA devices; raises RdmaError when there is none or pyverbs is missing."""
    library = _pyverbs("device")
    try:
        names = [found.name.decode() for found in library.get_device_list()]
    except _error() as why:
        raise RdmaError(_no_device()) from why
    if not names:
        raise RdmaError(_no_device())
    return names


class VerbsPort:
    """Port 1 of a device with some UD queue pairs, ready to send and receive."""

    def __init__(self, device: str, queue_pairs: int = 1) -> None:
        """Raises RdmaError when the device does not exist or has no RoCEv2 address over IPv4."""
        if device not in (known := device_names()):
            raise RdmaError(f"no RDMA device {device!r}; there is {', '.join(known)}")
        enums, addr, wr = _pyverbs("enums"), _pyverbs("addr"), _pyverbs("wr")
        self._enums, self._addr, self._wr = enums, addr, wr
        qp = _pyverbs("qp")
        depth = queue_pairs * (_RECEIVES + _SENDS)
        try:
            context = _pyverbs("device").Context(name=device)
            self._gid_index, ip = _ipv4_gid(context, enums, device)
            self._pd = _pyverbs("pd").PD(context)
            self._cq = _pyverbs("cq").CQ(context, depth)
            room = qp.QPCap(max_send_wr=_SENDS, max_recv_wr=_RECEIVES, max_send_sge=1,
                            max_recv_sge=1)  # fmt: skip
            init = qp.QPInitAttr(qp_type=enums.IBV_QPT_UD, scq=self._cq, rcq=self._cq, cap=room)
            attributes = qp.QPAttr(port_num=_PORT)
            attributes.qkey = _QKEY
            # A UD queue pair that is made with attributes is ready to send at once.
            self._qps = [qp.QP(self._pd, init, attributes) for _ in range(queue_pairs)]
            self._memory = _pyverbs("mr").MR(self._pd, depth * _SLOT, enums.IBV_ACCESS_LOCAL_WRITE)
        except _error() as why:
            raise RdmaError(f"RDMA device {device}: {why}") from why
        self.addresses = [QpAddress(ip, made.qp_num) for made in self._qps]
        self._index = {made.qp_num: index for index, made in enumerate(self._qps)}
        first_send = queue_pairs * _RECEIVES
        self._free = [
            deque(range(first_send + own * _SENDS, first_send + (own + 1) * _SENDS))
            for own in range(queue_pairs)
        ]
        self._sends: dict[int, tuple[int, int, int]] = {}  # number -> own, slot, sent ns
        self._handles: dict[str, Any] = {}
        self._context, self._count = context, 0
        for slot in range(first_send):
            self._post_receive(slot)

    def prepare(self, to: QpAddress) -> None:
        """Create the address handle of a host; raises RdmaError when there is no route to it.

        The handle is cached: creating one makes the kernel resolve the neighbour, which can take a
        second.
        """
        if to.ip in self._handles:
            return
        try:
            route = self._addr.GlobalRoute(
                dgid=self._addr.GID(to.gid), sgid_index=self._gid_index, hop_limit=_HOP_LIMIT
            )
            attributes = self._addr.AHAttr(port_num=_PORT, is_global=1, gr=route)
            self._handles[to.ip] = self._addr.AH(self._pd, attr=attributes)
        except _error() as why:
            raise RdmaError(f"cannot send to {to}: {why}") from why

    def send(self, own: int, to: QpAddress, payload: bytes) -> int:
        """Send a message of at most 72 bytes; returns its number. Raises RdmaError when too many
        sends are not completed, or the device refuses."""
        self.prepare(to)
        if not self._free[own]:
            raise RdmaError(f"{_SENDS} messages of one queue pair have not left yet; probe slower")
        slot = self._free[own].popleft()
        self._count += 1
        number = self._count | _SEND_FLAG
        try:
            self._memory.write(payload, len(payload), slot * _SLOT)
            request = self._wr.SendWR(
                wr_id=number, num_sge=1, sg=[self._entry(slot, len(payload))],
                opcode=self._enums.IBV_WR_SEND, send_flags=self._enums.IBV_SEND_SIGNALED,
            )  # fmt: skip
            request.set_wr_ud(self._handles[to.ip], to.qpn, _QKEY)
            sent_ns = monotonic_ns()
            self._qps[own].post_send(request)
        except _error() as why:
            self._free[own].append(slot)
            raise RdmaError(f"cannot send to {to}: {why}") from why
        self._sends[number] = (own, slot, sent_ns)
        return number

    def poll(self) -> Sent | Arrived | None:
        """The next completion, if there is one."""
        while True:
            count, found = self._cq.poll(1)
            polled_ns = monotonic_ns()
            if not count:
                return None
            done = found[0]
            if done.status != self._enums.IBV_WC_SUCCESS:
                raise RdmaError(f"a work request failed with status {done.status}")
            if done.wr_id & _SEND_FLAG:
                own, slot, sent_ns = self._sends.pop(done.wr_id)
                self._free[own].append(slot)
                return Sent(done.wr_id, sent_ns)
            raw: bytes = self._memory.read(done.byte_len, done.wr_id * _SLOT)
            self._post_receive(done.wr_id)
            if (ip := source_ip(raw)) is not None:
                peer = QpAddress(ip, done.src_qp)
                return Arrived(peer, self._index[done.qp_num], raw[GRH_BYTES:], polled_ns)

    def close(self) -> None:
        """Release the device and all its resources."""
        self._context.close()

    def _post_receive(self, slot: int) -> None:
        request = self._wr.RecvWR(
            wr_id=slot, num_sge=1, sg=[self._entry(slot, GRH_BYTES + packet.SIZE)]
        )
        self._qps[slot // _RECEIVES].post_recv(request)

    def _entry(self, slot: int, size: int) -> Any:
        return self._wr.SGE(self._memory.buf + slot * _SLOT, size, self._memory.lkey)


def _ipv4_gid(context: Any, enums: Any, device: str) -> tuple[int, str]:
    """Index and IPv4 address of the port's first RoCEv2 GID that maps one."""
    for index in range(context.query_port(_PORT).gid_tbl_len):
        try:
            gid, kind = context.query_gid(_PORT, index).gid, context.query_gid_type(_PORT, index)
        except _error():
            continue  # an empty entry
        ip = ip_of_gid(gid)
        if ip is not None and kind == enums.IBV_GID_TYPE_SYSFS_ROCE_V2:
            return index, ip
    raise RdmaError(f"RDMA device {device} has no IPv4 address; give its network interface one")


def _pyverbs(part: str) -> ModuleType:
    try:
        return import_module(f"pyverbs.{part}")
    except ImportError as why:
        raise RdmaError(
            f"RDMA_PING needs pyverbs ({why}); apt install python3-pyverbs ibverbs-providers"
        ) from why


def _error() -> type[Exception]:
    known: type[Exception] = _pyverbs("pyverbs_error").PyverbsError
    return known


def _no_device() -> str:
    return (
        "RDMA_PING needs an RDMA device and this machine has none (ibv_devices lists them); "
        "probe with UDP_PING, or add one: rdma link add rxe0 type rxe netdev INTERFACE"
    )
