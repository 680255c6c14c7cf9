"""Queries of the site's views: what there is, who probes, how far the pipeline is, what jobs have.

Start in ``topology``; ``incident_paths`` draws an incident over it.
"""
