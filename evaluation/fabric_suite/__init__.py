"""The fault suite on a fabric of namespaces: real packets through the whole pipeline, scored.

In: rounds of faults (``testbed.netns.fault_suite``). Out: a ``Result`` with the incident of each
fault, and how busy the machine was. Start with ``player.py``.
"""
