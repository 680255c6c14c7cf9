"""Commands about what there is and what is planned: the topology document, maintenance windows.

In: files of operators and documents of topics. Out: documents, and lines that name each mistake.
Start with ``topology``.
"""
