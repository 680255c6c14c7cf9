"""The compiled helper (``native/``): whether it is there, for all who have a part done by it.

Start at ``native``. Each use of it has an equal implementation in Python.
"""
