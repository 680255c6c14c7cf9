"""Incidents of a run on files -> one HTML file that needs nothing else: no script, no server.

``page`` writes it; ``series`` adds probes of paths up by time, ``chart`` draws them as SVG.
"""
