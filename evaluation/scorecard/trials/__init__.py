"""One trial each: a draw of a published setting, or a scenario through the whole pipeline.

In: name, seed and strategy. Out: a row of results.jsonl. Start with ``pipeline.py``;
``calibration`` counts the p-values of clean input.
"""
