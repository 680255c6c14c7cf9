"""What to simulate: scenarios as TOML files, and the settings of published evaluations.

In: the name of a shipped scenario, or a file, and a seed. Out: a ``Simulation``; from ``published``
the evidence of a setting without the simulator. Start with ``scenario.py``.
"""
