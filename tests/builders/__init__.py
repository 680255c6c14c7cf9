"""What several tests build: clusters, pings, evidence, services. One builder per concept."""
