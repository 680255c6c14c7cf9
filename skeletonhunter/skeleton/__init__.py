"""Skeleton inference from files: throughput in, documents, text and a picture out.

Start in ``documents``; ``throughput_files`` reads, ``report`` words, ``plot`` draws.
"""
