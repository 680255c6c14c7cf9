"""probers.publishing."""
