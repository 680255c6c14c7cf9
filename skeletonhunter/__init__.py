"""The command: settings, the embedded house in one process, and one file per group of commands.

The only package that may import all others. Everything below it gets values as arguments and reads
neither settings nor the environment.
"""
