"""probers.health."""
