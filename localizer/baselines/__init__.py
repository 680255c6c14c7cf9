"""What the localizer has learnt from the past of one fabric; ``detectors`` compare with it.

In: panes, windows and heartbeats of seconds that were judged. Out: counts of recent seconds, the
usual latency of each path, the usual loss, when each host was last seen. Start with
``pane_history``, then ``latency``. Nothing here decides that something is wrong.
"""
