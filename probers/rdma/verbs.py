"""The RDMA device: UD queue pairs through pyverbs, which is imported when the first is opened.

pyverbs comes from the distribution (python3-pyverbs): the package of that name on PyPI builds all
of rdma-core. Time stamps are software's: a message is stamped as sent just before it is given to
the device (soft-RoCE sends it at once, long before its completion is polled), and as received when
its completion is polled.
"""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from contextlib import suppress
from time import monotonic_ns
from typing import Any, Final

from probers.net import packet
from probers.rdma.devices import (
    Gid,
    RdmaError,
    address_of,
    device_names,
    error,
    first_gid,
    pyverbs,
)
from probers.rdma.packet import (
    GRH_BYTES,
    QpAddress,
    flow_label,
    source_ip,
    source_port,
)
from probers.rdma.port import HOP_LIMIT, Arrived, Sent

#: Both ends must use the same one. It keeps other programs' messages out, and is no secret.
_QKEY: Final = 0x534B48
_RECEIVES: Final = 64  # buffers posted per queue pair
_SENDS: Final = 64
_SLOT: Final = 128
_SEND_FLAG: Final = 1 << 32  # in a work request's number: a send, not a receive
_MOST_HANDLES: Final = 4096
_DSCP_SHIFT: Final = 2  # a traffic class is the DSCP and two bits of ECN
_EVENTS: Final = "infinibandevent"  # what the kernel calls the descriptor of a completion channel

_Handle = tuple[str, int, int, int]  # address, own queue pair, traffic class, hop limit


class VerbsPort:
    """A device's port with some UD queue pairs, ready to send and receive."""

    def __init__(
        self,
        device: str,
        queue_pairs: int = 1,
        *,
        gid: Gid | None = None,
        ipv6: bool | None = None,
        service_level: int = 0,
        traffic_class: int | None = None,
    ) -> None:
        """gid            whose address is the own one; None: the device's first RoCEv2 one
        ipv6           its IP version where there is no ``gid``; None: IPv4's, else IPv6's
        traffic_class  None: of the DSCP of each message

        Messages of the other IP version are neither sent nor received. Raises RdmaError when the
        device does not exist or has no such RoCEv2 GID.
        """
        if device not in (known := device_names()):
            raise RdmaError(f"no RDMA device {device!r}; there is {', '.join(known)}")
        enums, addr, wr = pyverbs("enums"), pyverbs("addr"), pyverbs("wr")
        self._enums, self._addr, self._wr = enums, addr, wr
        self._gid = first_gid(device, ipv6) if gid is None else gid
        ip = address_of(self._gid)
        self._ipv6 = ":" in ip
        self._service_level, self._traffic_class = service_level, traffic_class
        depth = queue_pairs * (_RECEIVES + _SENDS)
        try:
            self._context = pyverbs("device").Context(name=device)
            self._open(queue_pairs, depth)
        except error() as why:
            raise RdmaError(f"RDMA device {device}: {why}") from why
        self.addresses = [QpAddress(ip, made.qp_num) for made in self._qps]
        self._labels = [flow_label(source_port(each.qpn)) for each in self.addresses]
        self._index = {made.qp_num: index for index, made in enumerate(self._qps)}
        first_send = queue_pairs * _RECEIVES
        self._free = [
            deque(range(first_send + own * _SENDS, first_send + (own + 1) * _SENDS))
            for own in range(queue_pairs)
        ]
        self._sends: dict[int, tuple[int, int, int]] = {}  # number -> own, slot, sent ns
        self._handles: OrderedDict[_Handle, Any] = OrderedDict()
        self._count = 0
        for slot in range(first_send):
            self._post_receive(slot)

    def _open(self, queue_pairs: int, depth: int) -> None:
        cq, qp = pyverbs("cq"), pyverbs("qp")
        self._pd = pyverbs("pd").PD(self._context)
        before = _descriptors()
        self._channel = cq.CompChannel(self._context)
        made = _descriptors() - before  # pyverbs does not show it
        if len(made) != 1:
            raise RdmaError(
                "the completion channel's descriptor is not in /proc/self/fd; mount /proc"
            )
        (self._descriptor,) = made
        self._cq = cq.CQ(self._context, depth, None, self._channel)
        self._cq.req_notify()
        room = qp.QPCap(max_send_wr=_SENDS, max_recv_wr=_RECEIVES, max_send_sge=1,
                        max_recv_sge=1)  # fmt: skip
        init = qp.QPInitAttr(qp_type=self._enums.IBV_QPT_UD, scq=self._cq, rcq=self._cq, cap=room)
        attributes = qp.QPAttr(port_num=self._gid.port)
        attributes.qkey = _QKEY
        # A UD queue pair that is made with attributes is ready to send at once.
        self._qps = [qp.QP(self._pd, init, attributes) for _ in range(queue_pairs)]
        local = self._enums.IBV_ACCESS_LOCAL_WRITE
        self._memory = pyverbs("mr").MR(self._pd, depth * _SLOT, local)

    def prepare(self, own: int, to: QpAddress, dscp: int = 0, hop_limit: int = HOP_LIMIT) -> None:
        """Create the address handle of a host; raises RdmaError when there is no route to it.

        The handle is cached: creating the first one makes the kernel resolve the neighbour, which
        can take a second.
        """
        self._handle(own, to, dscp, hop_limit)

    def _handle(self, own: int, to: QpAddress, dscp: int, hop_limit: int) -> Any:
        wanted = self._traffic_class
        traffic_class = dscp << _DSCP_SHIFT if wanted is None else wanted
        if to.ipv6 != self._ipv6:
            raise RdmaError(f"cannot send to {to} from {self.addresses[own]}: another IP version")
        key = to.ip, own, traffic_class, hop_limit
        if (known := self._handles.get(key)) is not None:
            self._handles.move_to_end(key)
            return known
        try:
            route = self._addr.GlobalRoute(
                dgid=self._addr.GID(to.gid), flow_label=self._labels[own],
                sgid_index=self._gid.entry, hop_limit=hop_limit, traffic_class=traffic_class,
            )  # fmt: skip
            attributes = self._addr.AHAttr(
                port_num=self._gid.port, is_global=1, gr=route, sl=self._service_level
            )
            made = self._handles[key] = self._addr.AH(self._pd, attr=attributes)
        except error() as why:
            raise RdmaError(f"cannot send to {to}: {why}") from why
        if len(self._handles) > _MOST_HANDLES:
            self._handles.popitem(last=False)[1].close()
        return made

    def send(
        self, own: int, to: QpAddress, payload: bytes, dscp: int = 0, hop_limit: int = HOP_LIMIT
    ) -> int:
        """Send a message of at most 72 bytes; returns its number. Raises RdmaError when too many
        sends are not completed, or the device refuses."""
        handle = self._handle(own, to, dscp, hop_limit)
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
            request.set_wr_ud(handle, to.qpn, _QKEY)
            sent_ns = monotonic_ns()
            self._qps[own].post_send(request)
        except error() as why:
            self._free[own].append(slot)
            raise RdmaError(f"cannot send to {to}: {why}") from why
        self._sends[number] = (own, slot, sent_ns)
        return number

    def poll(self) -> Sent | Arrived | None:
        """The next completion, if there is one; raises RdmaError when the device has failed."""
        while True:
            try:
                count, found = self._cq.poll(1)
            except error() as why:
                raise RdmaError(f"the completion queue failed: {why}") from why
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
            if (ip := source_ip(raw, ipv6=self._ipv6)) is not None:
                peer = QpAddress(ip, done.src_qp)
                return Arrived(peer, self._index[done.qp_num], raw[GRH_BYTES:], polled_ns)

    def fileno(self) -> int:
        """The completion channel."""
        return self._descriptor

    def rearm(self) -> None:
        """Take the event of a readable channel and ask for the next one."""
        try:
            self._channel.get_cq_event(self._cq)
            self._cq.ack_events(1)
            self._cq.req_notify()
        except error() as why:
            raise RdmaError(f"the completion channel failed: {why}") from why

    def close(self) -> None:
        """Release the device and all its resources."""
        with suppress(error()):  # a device that is gone has released them
            self._context.close()

    def _post_receive(self, slot: int) -> None:
        request = self._wr.RecvWR(
            wr_id=slot, num_sge=1, sg=[self._entry(slot, GRH_BYTES + packet.SIZE)]
        )
        try:
            self._qps[slot // _RECEIVES].post_recv(request)
        except error() as why:
            raise RdmaError(f"a receive buffer cannot be posted: {why}") from why

    def _entry(self, slot: int, size: int) -> Any:
        return self._wr.SGE(self._memory.buf + slot * _SLOT, size, self._memory.lkey)


def _descriptors() -> set[int]:
    """Of completion channels (and other queues of events of RDMA) in this process."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the one that lists them is closed already
            if _EVENTS in os.readlink(f"/proc/self/fd/{name}"):
                found.add(int(name))
    return found
