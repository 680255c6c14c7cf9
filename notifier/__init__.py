"""Tells people about incidents: Slack, PagerDuty, Alertmanager, webhooks; and pings a watchdog.

In: skh.incidents and skh.coverage, a configuration file. Out: one HTTP request for each incident
and state on each channel that a route names, and skh.notified, which records what was reported.
Start with ``decisions/reports.py`` (what is reported when), then ``service.py``.
"""
