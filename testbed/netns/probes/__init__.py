"""testbed.netns.probes."""
