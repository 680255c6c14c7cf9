"""Databases that tests open."""
