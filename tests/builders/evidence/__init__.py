"""Evidence of small networks, for strategies."""
