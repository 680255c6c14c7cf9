"""streams.localize."""
