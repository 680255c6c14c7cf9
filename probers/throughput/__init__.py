"""Throughput of the rnics that jobs use: bytes sent and received in each second.

In: counters of RDMA ports or of network interfaces, read at each whole second, for the rnics that
the ping list says that jobs use. Out: messages on skh.throughput. Start reading in ``reporter``,
then ``seconds``; ``port_counters`` reads.
"""
