"""The agent's command line. In: arguments, environment, files with keys and tokens. Out: checked
``Options``. ``argument_parser`` declares the options, ``options`` checks what they say.
"""
