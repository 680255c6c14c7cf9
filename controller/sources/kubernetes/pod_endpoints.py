"""Pod and rnics of its host -> endpoints of the container. Pure.

In this order: the annotation ``skeletonhunter.io/endpoints``; the RDMA interfaces that Multus lists
in ``k8s.v1.cni.cncf.io/network-status``; the host's own rnics, for a pod with ``hostNetwork`` that
has a device of the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from controller.sources import whole_hosts
from controller.sources.kubernetes.api_objects import Pod
from controller.sources.kubernetes.parameters import DEFAULT
from schemas.addresses import canonical
from schemas.documents.topology import Endpoint, Rnic

ENDPOINTS: Final = "skeletonhunter.io/endpoints"
NETWORK_STATUS: Final = "k8s.v1.cni.cncf.io/network-status"
_LONGEST: Final = 100  # characters of a value in a message


class NoEndpoints(ValueError):
    """The pod has no usable endpoints; one line.

    wrong  whether something is to be corrected; else the pod has no RDMA, or not yet
    """

    def __init__(self, why: str, *, wrong: bool) -> None:
        super().__init__(why)
        self.wrong = wrong


class _Pci(msgspec.Struct, frozen=True):
    rdma_device: str = msgspec.field(name="rdma-device", default="")


class _Device(msgspec.Struct, frozen=True):
    pci: _Pci = _Pci()


class _Network(msgspec.Struct, frozen=True):
    """An entry of the network status; device-info: v1.1.0 of its specification."""

    name: str = ""
    interface: str = ""
    ips: list[str] = []
    default: bool = False
    device: _Device = msgspec.field(name="device-info", default=_Device())


def endpoints(
    pod: Pod, rnics: Sequence[Rnic], rails: Sequence[str] = ()
) -> list[Endpoint]:  # fmt: skip
    """The endpoints of the pod; raises NoEndpoints.

    rnics  of the pod's host, empty where the host is in no topology
    rails  names of networks in order of rails; empty: the interfaces of a pod that has one for
           each rnic are in that order
    """
    if text := pod.annotation(ENDPOINTS):
        return _annotated(text, pod.spec.node_name, {each.real_ip for each in rnics})
    networks = _networks(pod)
    if not networks and not _uses_host(pod):
        raise NoEndpoints("the pod has no RDMA interface", wrong=False)
    if not rnics:
        raise NoEndpoints(
            f"host {pod.spec.node_name!r} is in no topology, or has no rnic there", wrong=True
        )
    if not networks:
        return whole_hosts.endpoints(rnics)
    return [
        Endpoint(ip=_address(each), real_ip=rnic.real_ip)
        for each, rnic in zip(networks, _behind(networks, rnics, rails), strict=True)
    ]


def on_host(pod: Pod) -> bool:
    """Whether the endpoints are the host's own rnics."""
    try:
        return not pod.annotation(ENDPOINTS) and _uses_host(pod) and not _networks(pod)
    except NoEndpoints:  # tenants write annotations
        return False


def _annotated(text: str, host: str, rnics: set[str]) -> list[Endpoint]:
    """The endpoints of the annotation; rnics: of the host, none where it is in no topology."""
    try:
        found = [
            Endpoint(canonical(each.ip), canonical(each.real_ip))
            for each in msgspec.json.decode(text, type=list[Endpoint])
        ]
    except (msgspec.MsgspecError, ValueError) as why:
        raise NoEndpoints(
            f"annotation {ENDPOINTS}: {why}; write a JSON array of "
            '{"ip": "...", "real_ip": "..."}, both IP addresses',
            wrong=True,
        ) from why
    if not found:
        raise NoEndpoints(f"annotation {ENDPOINTS} is empty", wrong=False)
    if len(found) > DEFAULT.most_endpoints:
        raise NoEndpoints(
            f"annotation {ENDPOINTS} has more than {DEFAULT.most_endpoints} endpoints", wrong=True
        )
    if strange := [each.real_ip for each in found if rnics and each.real_ip not in rnics]:
        raise NoEndpoints(
            f"annotation {ENDPOINTS}: {strange[0]} is no rnic of host {host!r}", wrong=True
        )
    return found


def _networks(pod: Pod) -> list[_Network]:
    """The RDMA interfaces besides the cluster's own network, in the order of the status."""
    text = pod.annotation(NETWORK_STATUS)
    if not text:
        return []
    try:
        found = msgspec.json.decode(text, type=list[_Network])
    except msgspec.MsgspecError as why:
        raise NoEndpoints(f"annotation {NETWORK_STATUS}: {why}", wrong=True) from why
    return [each for each in found if not each.default and each.device.pci.rdma_device]


def _address(network: _Network) -> str:
    """Of several, an IPv4 one."""
    for text in sorted(network.ips, key=lambda each: ":" in each):
        with suppress(ValueError):
            return canonical(text)
    raise NoEndpoints(
        f"interface {network.interface} of network {network.name[:_LONGEST]!r} has no IP address",
        wrong=True,
    )


def _behind(
    networks: Sequence[_Network], rnics: Sequence[Rnic], rails: Sequence[str]
) -> list[Rnic]:
    """The rnic behind each interface."""
    if not rails:
        if len(networks) != len(rnics):
            raise NoEndpoints(
                f"{len(networks)} RDMA interfaces on a host with {len(rnics)} rnics: name the "
                "networks in order of rails (SKH_CONTROLLER_KUBERNETES_RAILS)",
                wrong=True,
            )
        return sorted(rnics, key=lambda each: each.rail)
    of_rail = {each.rail: each for each in rnics}
    found = []
    for each in networks:
        names = (each.name, each.name.rpartition("/")[2])
        rail = next((rails.index(name) for name in names if name in rails), None)
        if rail not in of_rail:
            why = "is not among the named rails" if rail is None else f"is of rail {rail}, which "
            raise NoEndpoints(
                f"network {each.name[:_LONGEST]!r} {why}"
                + ("" if rail is None else "the host lacks"),
                wrong=True,
            )
        found.append(of_rail[rail])
    return found


def _uses_host(pod: Pod) -> bool:
    """Whether the pod is on the host's network and has a device, as GPUs, by an extended resource.

    Their names have a domain, as nvidia.com/gpu and rdma/hca; those of Kubernetes itself have none.
    """
    return pod.spec.host_network and any(
        "/" in name for each in pod.spec.containers for name in each.resources.limits or {}
    )
