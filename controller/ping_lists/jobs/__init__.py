"""Which endpoints of a job are paired: on ``rings`` of its rails, or its skeleton (``pairs``), of
which ``spread`` picks evenly where it has too many. No I/O.
"""
