"""Publishing: measurements become records, records messages, messages reach Kafka or a relay.

In: bursts, traces and heartbeats. Out: messages on skh.pings and skh.heartbeats; every message that
is not delivered is counted. Start reading in ``publisher``, then ``record`` and ``batcher``.
"""
