"""Traced routes of five-tuples, and which of them are in doubt."""
