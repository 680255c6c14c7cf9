"""localizer.incidents."""
