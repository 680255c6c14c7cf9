"""A million five-tuple paths: time to judge a second, and memory of a worker."""
