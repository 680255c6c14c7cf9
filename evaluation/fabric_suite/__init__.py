"""evaluation.fabric_suite."""
