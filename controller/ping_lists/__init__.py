"""Whom to probe: topology, containers' states and jobs' skeletons in, one ping list per host out.

Start in ``same_rail`` (the lists of a fabric in which everything runs). Pure.
"""
