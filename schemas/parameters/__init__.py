"""Tunable figures: each a field of a frozen dataclass, with its default, unit and source.

In: ``parameter(default, unit=..., source=...)`` where a dataclass declares a field. Out: ``rows``,
the table that ``skeletonhunter params`` and the scorecard print. Start with ``parameter``;
``window_timing`` holds the figures that the windower and the localizer have to agree on.
"""
