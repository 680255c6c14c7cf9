"""schemas.wire."""
