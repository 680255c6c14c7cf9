"""Ways to see that something is wrong: loss, latency, silence. They do not say who is to blame."""
