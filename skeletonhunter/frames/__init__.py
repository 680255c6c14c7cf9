"""For pandas: records and incidents as data frames, from files, an API or ClickHouse.

What ``import skeletonhunter`` offers is here: ``analysis`` judges, ``records`` reads,
``connection`` asks what is stored. Start in docs/python.md.
"""
