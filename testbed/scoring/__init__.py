"""testbed.scoring."""
