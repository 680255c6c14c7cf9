"""Jobs, and what sources claim of jobs and containers (skh.jobs; the claims in skh.placement)."""
