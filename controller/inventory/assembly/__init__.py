"""Everything that was found -> one topology document.

In: a ``Found``. Out: the document, or every mistake: ``cables`` pairs what both ends say,
``selection`` finds hosts and rnics, ``rails`` and ``tiers`` read names and graph.
Start with ``assemble``.
"""
