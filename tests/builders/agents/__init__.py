"""Builders of the agent's tests: agents in processes, servers, cables, loops in virtual time."""
