"""docs/scorecard.md.

In: the rows of results.jsonl. Out: Markdown and plots; the same rows give the same page. Start with
``render.py``.
"""
