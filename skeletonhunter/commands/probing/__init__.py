"""Commands about who probes whom: ``ping-lists`` and ``coverage``.

Start in the module of a command's name; ``inputs`` reads what they have in common.
"""
