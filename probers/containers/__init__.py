"""Containers of this host, each in a network namespace of its own, with an agent inside.

In: connections to a unix socket of the host's agent, from containers; the host's ping list. Out: to
each container its own part of the list; to the controller which containers are ready. Start reading
in ``server``; ``peers`` finds out who has connected, ``readiness`` is the state.
"""
