"""One module per command, or per group of commands: arguments, help, exit code.

In: what the user types. Out: a call of another room with values, and its result as text. Each has
``register(app)``; what is heavy is imported inside commands. Start with ``diagnose``.
"""
