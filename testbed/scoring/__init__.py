"""Incidents compared with the truth.

In: truth.json and incidents (as objects or JSON lines). Out: matches, missed faults, false
incidents, time to detect. Start with ``score.py``, which holds the rule of a match.
"""
