"""Requests to agents beyond their ping lists: what may be asked, what is open. Pure.

on_demand      what an operator asks -> a request to one host
permission     which endpoints may probe which
recent_evidence  what agents have answered about incidents
open_requests  requests that have not ended, by host, and what agents have answered
"""
