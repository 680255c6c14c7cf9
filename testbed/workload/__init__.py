"""Training jobs on a fabric: placement, layout, probe schedule, throughput.

In: a topology, the jobs of a scenario and a seed. Out: lifetimes of containers, the pairs that are
probed with their five-tuples and paths, layout.json, bytes per rnic and second. Start with
``jobs.py`` (the schedule) and ``skeleton.py`` (the probed paths).
"""
