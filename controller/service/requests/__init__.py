"""Requests to agents, while the service runs: recorded, offered, answered.

desk    what is open, who waits for it
routes  agents read their requests; operators ask for probes
"""
