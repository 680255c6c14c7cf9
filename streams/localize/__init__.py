"""skh.windows, documents about the site -> skh.incidents, skh.anomalies.

In: panes, windows, heartbeats and punctuations of skh.windows, and documents of operators.
Out: incidents and anomalies, of one localizer for each fabric; errors stay within a fabric.
Start with ``stage.py`` (all fabrics of a worker), then ``fabric.py`` (one fabric).
"""
