"""localizer.verdicts."""
