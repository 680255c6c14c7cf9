"""localizer.baselines."""
