"""k8s/components/strimzi: topics, users and cluster fit the topics' table and the parts."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes import dynamic
from kubernetes.client.exceptions import ApiException

from schemas import topics
from streams.kafka.admin import configuration

from .kubernetes_tools import K8S, Object, apply, build, define, of_kind

pytestmark = pytest.mark.kubernetes
STRIMZI = K8S / "components" / "strimzi"
OPERATIONS = ("Write", "Describe", "Read", "All")


def strimzi_definition(kind: str) -> Object:
    """A definition of the test's own, strict only about what is generated."""
    words = {"type": "array", "items": {"type": "string", "enum": list(OPERATIONS)}}
    rights = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "operations": words,
                "resource": {
                    "type": "object",
                    "properties": {
                        name: {"type": "string"} for name in ("type", "name", "patternType")
                    },
                },
            },
        },
    }
    types = {"type": {"type": "string"}}
    specs: dict[str, Any] = {
        "KafkaTopic": {"type": "object", "properties": {
            "partitions": {"type": "integer", "minimum": 1},
            "config": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}},
        "KafkaUser": {"type": "object", "properties": {
            "authentication": {"type": "object", "properties": types},
            "authorization": {"type": "object", "properties": {**types, "acls": rights}}}},
    }  # fmt: skip
    spec = specs.get(kind, {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec}}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.kafka.strimzi.io"},
        "spec": {
            "group": "kafka.strimzi.io", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": "v1", "served": True, "storage": True,
                          "schema": {"openAPIV3Schema": schema}}],
        },
    }  # fmt: skip


def test_strimzis_objects_are_applied_and_a_wrong_one_is_refused(
    cluster: dynamic.DynamicClient,
) -> None:
    for kind in ("Kafka", "KafkaNodePool", "KafkaTopic", "KafkaUser"):
        define(cluster, strimzi_definition(kind))
    apply(cluster, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kafka"}})
    objects = build(STRIMZI)
    for each in objects:
        apply(cluster, each)
    agent = of_kind(objects, "KafkaUser")["agent"]
    agent["spec"]["authorization"]["acls"][0]["operations"] = ["Writes"]
    with pytest.raises(ApiException, match="Unsupported value"):
        apply(cluster, agent)


def test_strimzi_makes_the_topics_users_and_the_address_that_the_parts_use() -> None:
    objects = build(STRIMZI)
    made = of_kind(objects, "KafkaTopic")
    assert set(made) == {topic.name for topic in topics.ALL}
    for topic in topics.ALL:
        spec = made[topic.name]["spec"]
        assert spec["partitions"] == topic.partitions
        assert {k: str(v) for k, v in spec["config"].items()} == configuration(topic)
    (kafka,) = of_kind(objects, "Kafka").values()
    (listener,) = kafka["spec"]["kafka"]["listeners"]
    assert kafka["spec"]["kafka"]["config"]["auto.create.topics.enable"] is False
    place = kafka["metadata"]
    settings = of_kind(build(K8S / "base"), "ConfigMap")["settings"]["data"]
    address = f"{place['name']}-kafka-bootstrap.{place['namespace']}.svc:{listener['port']}"
    assert settings["SKH_KAFKA"] == address
    users = of_kind(objects, "KafkaUser")
    (supreme,) = kafka["spec"]["kafka"]["authorization"]["superUsers"]
    assert set(users) == {supreme, "agent"}
    assert f'"sasl.username": "{supreme}"' in settings["SKH_KAFKA_OPTIONS"]
    rights = users["agent"]["spec"]["authorization"]["acls"]
    assert [r["resource"]["name"] for r in rights] == [
        "skh.pings", "skh.heartbeats", "skh.throughput", "skh.evidence",
    ]  # fmt: skip
    for each in objects:
        assert each["metadata"]["namespace"] == place["namespace"]
        if each is not kafka:
            assert each["metadata"]["labels"] == {"strimzi.io/cluster": place["name"]}
