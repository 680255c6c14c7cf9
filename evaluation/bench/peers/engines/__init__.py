"""Engines: each computes the same windows in the way that suits it; loaded by ``registry``."""
