"""Verdicts, second by second -> incident documents.

In: the verdicts of one second and whom they hit. Out: new versions of the incidents that changed.
Start with ``tracker.py`` (the life of an incident), then ``matching.py`` (which one it is).
"""
