"""Commands on what is stored: ``sql`` asks it, ``load`` adds files to it. Start with ``place``."""
