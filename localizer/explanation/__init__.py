"""What a verdict means: confidence, issue types, whom it hits, and the evidence people read.

In: verdicts and the state they were decided on. Out: typed evidence, and documents rendered of it.
``refined.py`` puts what counters and flow tables decided into a document, and takes it out again.
Start with ``document.py`` (what an incident document holds) and ``confidence.py``.
"""
