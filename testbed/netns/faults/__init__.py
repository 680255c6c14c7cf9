"""Faults of the real fabric, each verified in the kernel when it is applied and when it is undone.

In: a ``Fault`` (what, where, how much). Out: kernel state and processes, and the line of truth.json
(``issues``). Start with ``actions.py``, the table of all faults; ``filters`` drops packets,
``shaped_packets`` delays and corrupts them, the other modules break links, processes and vSwitches.
"""
