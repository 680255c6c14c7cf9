"""probers.net."""
