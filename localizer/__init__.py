"""The mathematics, without I/O, clock or randomness: messages of skh.windows -> incidents.

In: panes, windows, heartbeats, traced routes, operators' documents, evidence of hosts. Out:
incidents, anomalies.
Start with ``localizer.py``; ``verdicts/second.py`` has the rules in their order. ``detectors/``
decide that something is wrong, ``strategies/`` what is to blame, ``fabric/`` which path crosses
what, ``baselines/`` what is normal, ``host_evidence/`` what counters and flow tables add.
"""
