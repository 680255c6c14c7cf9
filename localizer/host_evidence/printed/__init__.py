"""What commands of hosts print -> typed flows and rules.

In: the texts of flow tables. Out: a ``Dump`` for each command. Start reading in ``flow_dumps``.
"""
