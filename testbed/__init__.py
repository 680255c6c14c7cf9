"""A data centre on one machine, and the truth about the faults in it.

In: scenarios (TOML) with a seed, or plans of namespace fabrics. Out: ping records, heartbeats,
documents, real packets, and truth.json. Start with ``scenarios/scenario.py`` (what a scenario
holds) and ``simulator/simulator.py`` (one second of records after another); ``netns`` builds real
fabrics, ``rdma_vm`` a machine with RDMA devices, ``scoring`` compares incidents with the truth.
The simulation is a pure function of the scenario and the seed.
"""
