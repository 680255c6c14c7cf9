"""schemas.documents."""
