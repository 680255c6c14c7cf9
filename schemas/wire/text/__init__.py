"""Text formats of ping records: CSV, JSON."""
