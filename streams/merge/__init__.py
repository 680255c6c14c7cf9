"""streams.merge."""
