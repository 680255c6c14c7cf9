"""Whom to probe: topology, containers' states and jobs' skeletons in, one ping list per host out.

Start in ``lists`` (three phases, event by event). ``underlay`` plans the pairs of rnics,
``same_rail`` makes the lists of a fabric in which everything runs. Pure.
"""
