"""Faults of the simulator: the catalogue of issue types, and the faults of a scenario.

In: issue_types.toml, the fault plans and random arrivals of a scenario, a seed. Out: ``Fault``s at
components, and their lines of truth.json. Start with ``kinds.py``.
"""
