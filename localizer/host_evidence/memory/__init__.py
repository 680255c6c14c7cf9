"""What the memory of a host says about an incident. No I/O.

In: counters of a host's huge pages. Out: a finding. Start reading in ``huge_pages``.
"""
