"""The feedback loop against the localizer: how soon further probes tell a tie set apart.

In: simulated fabrics with sparse lists and one broken link. Out: members of the tie set with and
without the loop, and seconds. Start in ``trials``.
"""
