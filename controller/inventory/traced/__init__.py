"""What traceroutes say against a topology document.

In: the document and traced routes. Out: contradictions, each with its evidence, and how much of the
document the routes could tell. ``routes`` reads hops, ``absence`` judges links that no route shows,
``contradictions`` names what does not fit. Start there.
"""
