"""Probes that the peer's kernel answers: TCP handshakes and ICMP echoes; the peer needs no agent.

In: the ping list in effect. Out: bursts that become TCP_PING and ICMP_PING records, and routes of
their five-tuples. Start reading in ``probing``; ``tcp`` and ``icmp`` measure, ``tcp_hops`` and
``icmp`` send the packets of traceroutes.
"""
