"""localizer.explanation."""
