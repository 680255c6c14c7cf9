"""Values of each of the newest seconds, by path.

In: rows of paths and their values, second by second. Out: lines and sums of stretches of seconds.
Start with ``sparse_lines``: most paths lose nothing, and many are not probed in a given second.
"""
