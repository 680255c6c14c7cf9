"""What is not judged or not reported: containers that are not ready, components maintained.

In: placement and maintenance documents, verdicts. Out: verdicts to report, and suppressions.
Start with ``filters.py`` (the two rules), then ``log.py`` (what was suppressed).
"""
