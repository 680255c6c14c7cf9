"""api.queries."""
