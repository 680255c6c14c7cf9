"""What open incidents of a former process tell about silent hosts.

A worker that starts reads some minutes of the past. A host that has been silent for longer has no
heartbeat in them, and a host without any heartbeat is not judged as silent: without this its
incident would be resolved by the start of a worker.
"""

from __future__ import annotations

from collections.abc import Iterable

from localizer.state.fabric_state import FabricState
from schemas.component_ids import kind_of, name_of
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of

_SILENT = frozenset({"agent_down", "host_down"})


def restore_silence(state: FabricState, incidents: Iterable[Incident]) -> None:
    """Take the hosts of open incidents as silent since these opened, until their next heartbeat.

    Those of a pod or fabric are the ones that the topology names. Raises ValueError when a time
    cannot be read.
    """
    for each in incidents:
        if each.symptom not in _SILENT or each.state == "resolved":
            continue
        kind, since_s = kind_of(each.component), seconds_of(each.opened_at)
        if kind in ("host", "agent"):
            hosts = [name_of(each.component)]
        else:
            known = () if state.topology is None else state.topology.hosts
            hosts = [
                host.node_sn for host in known
                if kind == "fabric" or host.pod == name_of(each.component)
            ]  # fmt: skip
            state.silent_scopes.add(each.component)
        for host in hosts:
            state.hosts.absent_since(host, since_s)
