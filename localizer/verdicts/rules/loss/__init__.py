"""What decides over attributions of loss: extent, rise, and which class rather than another."""
