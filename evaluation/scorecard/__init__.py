"""The scorecard: every strategy on the published settings, the pipeline on every scenario.

In: a request (whole plan, quick, some parts). Out: results.jsonl, and docs/scorecard.md drawn from
it. Start with ``plan.py`` (which trials) and ``scorecard.py`` (the run); ``runner`` executes trials
and continues a stopped run, ``summary`` and ``intervals`` make figures, ``page`` draws them.
"""
