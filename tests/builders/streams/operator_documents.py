"""Documents of operators and of the controller, and a broker that has them."""

from __future__ import annotations

import msgspec

from schemas import topics
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.tasks.claims import State
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.readers.operator_feed import OperatorDocument


def placement(box: str, state: State, fabric: str = "f1") -> Placement:
    return Placement(
        node_id=box, node_sn="h1", state=state, valid_from="2026-05-28T20:26:40Z", fabric=fabric
    )


def maintenance(component: str, until: str = "2026-05-28T21:00:00Z") -> Maintenance:
    return Maintenance(
        component=component, start="2026-05-28T20:00:00Z", until=until, reason="new optics",
        fabric="f1",
    )  # fmt: skip


class OperatorBroker:
    """The embedded broker, and what operators publish on it."""

    def __init__(self) -> None:
        self.embedded = EmbeddedBroker()
        self.kafka = {"bootstrap.servers": self.embedded.bootstrap}

    def publish(
        self, *documents: OperatorDocument, raw: bytes | None = None, key: str = "bad"
    ) -> None:
        for doc in documents:
            if isinstance(doc, Placement):
                topic, name = topics.PLACEMENT, doc.node_id
            elif isinstance(doc, Maintenance):
                topic, name = topics.MAINTENANCE, doc.key
            else:
                topic, name = topics.TOPOLOGY, doc.fabric
            self.embedded.produce(topic.name, name, {}, msgspec.json.encode(doc))
        if raw is not None:
            self.embedded.produce(topics.PLACEMENT.name, key, {}, raw)
        assert self.embedded.flush() == 0
