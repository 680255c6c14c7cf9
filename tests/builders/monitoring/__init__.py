"""Builders of the tests of prometheus/ and grafana/: tools, files that are shipped."""
