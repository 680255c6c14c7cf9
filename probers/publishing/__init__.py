"""Publishing: measurements become records, records messages, messages reach Kafka or a relay.

In: bursts, traces and heartbeats; messages of ``probers.throughput``. Out: messages in Kafka or at
a relay; every message that is not delivered is counted. Start reading in ``publisher``, then
``record`` and ``batcher``.
"""
