"""The command ``skeletonhunter``; the only package that may import all others.

In: arguments and SKH_* variables (``settings``). Out: text, an exit code, or services that run.
Everything below gets values as arguments and reads neither settings nor environment. Start with
``cli``: it finds the commands (``commands/``), which run ``diagnosis``, ``services``, ``embedded``.
"""
