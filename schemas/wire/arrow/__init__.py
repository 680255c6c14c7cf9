"""Arrow IPC streams: a message's bytes in, plain columns of known names out, memory bounded.

Nothing is expanded before its size is known. Start in ``stream``; ``frames`` walks a stream without
Arrow, ``columns`` makes dictionaries and views plain. Streams of one layout (``layouts``) are read
many at once by ``alike``.
"""
