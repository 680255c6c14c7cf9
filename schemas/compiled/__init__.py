"""The compiled helper (``native/``): whether it is there, for all who have a part done by it.

Start at ``native``. Whoever uses it does the same in Python where it is not installed.
"""
