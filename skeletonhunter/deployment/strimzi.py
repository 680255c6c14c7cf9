"""Topics and users of Kafka as objects of Strimzi's operator; pure, from ``schemas.topics``."""

from __future__ import annotations

from typing import Any, Final

from schemas import topics
from schemas.topics import Topic
from skeletonhunter.deployment.configuration import AGENTS, ANALYSER
from streams.kafka.admin import AGENTS_MAY, configuration, written_by_agents

API_VERSION: Final = "kafka.strimzi.io/v1"
#: Label by which the operator knows the cluster of an object.
CLUSTER_LABEL: Final = "strimzi.io/cluster"


def topic_objects(cluster: str, namespace: str) -> list[dict[str, Any]]:
    """A KafkaTopic for each topic, with what ``topics --create`` asks of a broker.

    cluster    name of the Kafka object
    namespace  where it, and so the operator of its topics and users, is
    The number of replicas is the cluster's default.
    """
    return [_topic(topic, cluster, namespace) for topic in topics.ALL]


def user_objects(cluster: str, namespace: str) -> list[dict[str, Any]]:
    """A KafkaUser for the analyser, a super user of the cluster, and one for all agents.

    cluster, namespace  as of ``topic_objects``
    """
    rights = [
        {"resource": {"type": "topic", "name": name, "patternType": "literal"},
         "operations": [operation.name.capitalize() for operation in AGENTS_MAY]}
        for name in written_by_agents()
    ]  # fmt: skip
    return [
        _object("KafkaUser", ANALYSER, cluster, namespace, _password()),
        _object("KafkaUser", AGENTS, cluster, namespace, {
            **_password(), "authorization": {"type": "simple", "acls": rights},
        }),
    ]  # fmt: skip


def _topic(topic: Topic, cluster: str, namespace: str) -> dict[str, Any]:
    config = {
        name: int(value) if value.isdecimal() else value
        for name, value in configuration(topic).items()
    }
    spec = {"partitions": topic.partitions, "config": config}
    return _object("KafkaTopic", topic.name, cluster, namespace, spec)


def _password() -> dict[str, Any]:
    return {"authentication": {"type": "scram-sha-512"}}


def _object(
    kind: str, name: str, cluster: str, namespace: str, spec: dict[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": {CLUSTER_LABEL: cluster}},
        "spec": spec,
    }
