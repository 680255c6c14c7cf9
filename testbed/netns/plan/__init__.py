"""testbed.netns.plan."""
