"""localizer.suppression."""
