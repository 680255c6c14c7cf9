"""Agents, or parts of them, against brokers that fail."""
