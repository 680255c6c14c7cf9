"""streams.admission."""
