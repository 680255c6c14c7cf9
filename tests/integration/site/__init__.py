"""Processes that hold what is known of the site."""
