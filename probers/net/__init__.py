"""Datagrams: the packet format, UDP sockets with kernel time stamps, and who gets a reply.

In: requests to send, datagrams and ICMP errors from the network. Out: replies to peers; replies,
ICMP errors and send time stamps to the ``ReplyHandler`` that sent the request. Start reading in
``packet``, then ``socket_pool``.
"""
