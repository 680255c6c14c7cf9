"""probers.probing."""
