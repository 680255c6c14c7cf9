"""streams.sink."""
