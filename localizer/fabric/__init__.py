"""localizer.fabric."""
