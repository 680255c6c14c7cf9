"""Configuration files of Kafka and ClickHouse that hold passwords; pure texts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

#: Users of Kafka: the analyser, and all agents.
ANALYSER: Final = "skeletonhunter"
AGENTS: Final = "agent"
_LOGIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def kafka_properties(
    passwords: Mapping[str, str], *, inside: str, outside: str, folder: str, data: str
) -> str:
    """server.properties of a single broker, its own KRaft controller, both listeners with TLS.

    passwords  of Kafka's users; ANALYSER may do all, others what their ACLs say
    inside     host:port where the other containers reach it
    outside    host:port where the agents reach it
    folder     where the broker finds server.pem and ca.pem; data: where it keeps messages
    The controller's listener is on the container's loopback, without TLS: no one else reaches it,
    and its principal ANONYMOUS must be a super user.
    """
    users = " ".join(f'user_{name}="{text}"' for name, text in sorted(passwords.items()))
    login = f'{_LOGIN} username="{ANALYSER}" password="{passwords[ANALYSER]}" {users};'
    ports = {name: address.rpartition(":")[2] for name, address in
             (("INSIDE", inside), ("OUTSIDE", outside))}  # fmt: skip
    return f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
listeners=INSIDE://:{ports["INSIDE"]},OUTSIDE://:9092,CONTROLLER://127.0.0.1:9093
advertised.listeners=INSIDE://{inside},OUTSIDE://{outside}
listener.security.protocol.map=INSIDE:SASL_SSL,OUTSIDE:SASL_SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=INSIDE
controller.listener.names=CONTROLLER
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.inside.plain.sasl.jaas.config={login}
listener.name.outside.plain.sasl.jaas.config={login}
ssl.keystore.type=PEM
ssl.keystore.location={folder}/server.pem
ssl.truststore.type=PEM
ssl.truststore.location={folder}/ca.pem
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:{ANALYSER};User:ANONYMOUS
log.dirs={data}
log.retention.hours=24
auto.create.topics.enable=false
default.replication.factor=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


def clickhouse_users(owner: str, reader: str) -> str:
    """An XML file for ClickHouse's users.d: no user without a password.

    owner   password of ``skeletonhunter``, who owns the database of that name
    reader  password of ``grafana``, who may only read it
    """
    return f"""\
<clickhouse>
  <profiles>
    <reader><readonly>2</readonly><max_execution_time>30</max_execution_time></reader>
  </profiles>
  <users>
    <default remove="remove"/>
    <skeletonhunter>
      <password_sha256_hex>{_sha256(owner)}</password_sha256_hex>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <access_management>1</access_management>
    </skeletonhunter>
    <grafana>
      <password_sha256_hex>{_sha256(reader)}</password_sha256_hex>
      <networks><ip>::/0</ip></networks>
      <profile>reader</profile>
      <quota>default</quota>
      <grants><query>GRANT SELECT ON skeletonhunter.*</query></grants>
    </grafana>
  </users>
</clickhouse>
"""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
