"""A file for each format: LLDP, ibnetdiscover, NetBox, SONiC, CSV.

In: bytes of a file and its name. Out: a ``Found``: devices, cables, addresses, mistakes.
Start with ``reading``.
"""
