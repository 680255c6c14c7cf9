"""The configuration file: channels, routes, limits, watchdog.

In: YAML or TOML; secrets by reference to a file or a variable. Out: checked, frozen models, or one
line for each mistake. Start with ``document.py``, what may be in it; ``reading.py`` reads it.
"""
