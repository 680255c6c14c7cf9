"""Which channel hears what of an incident, and when: no I/O, time is an argument.

In: versions of incidents, what each channel has heard. Out: notifications, alone or in summaries.
Start with ``changes.py`` (one channel, one incident), then ``reports.py`` (all of them).
"""
