"""What to check and do about an incident: steps by issue type, else by kind and symptom.

``steps.toml`` is the table, ``steps.for_incident`` fills it in; docs/runbook.md is written from it.
"""
