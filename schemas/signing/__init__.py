"""Who sent a message: a host's key and a payload in, Kafka headers with a signature out, and back.

Start in ``headers`` (what a signed message carries), then ``signature`` (what is signed, ``sign``
and ``verify``); ``keys`` holds the key ring and derives hosts' keys from it. No I/O.
"""
