"""evaluation.bench."""
