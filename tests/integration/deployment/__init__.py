"""Installations: files that start all parts, executed without their engine."""
