"""The relay: passes messages from other agents of the host, received on a unix socket, to a sink.

For tenant sidecars, which do not reach Kafka, and for agents in network namespaces, which reach a
unix socket by its path. In: frames. Out: ``sink(topic, key, headers, payload)``. Start reading in
``server``; ``limits`` holds the bounds per client, ``stamping`` what is added to a message.
"""

from probers.publishing.relay.server import Identify, Relay, Sink
from probers.publishing.relay.stamping import ClientIdentity, Headers
from probers.publishing.relay.unix_server import RelayError

__all__ = ["ClientIdentity", "Headers", "Identify", "Relay", "RelayError", "Sink"]
