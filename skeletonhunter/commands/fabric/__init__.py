"""``skeletonhunter fabric``: build, break, mend and play a fabric of network namespaces.

In: options of the command line and the state files of fabrics that stand. Out: namespaces, faults,
truth.json, exit codes. Start with ``lifecycle.py``, which registers all of it.
"""
