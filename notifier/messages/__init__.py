"""What is sent: notifications as the bodies that each kind of receiver understands.

In: notifications. Out: requests, without any address or secret in their texts. Pure.
Start with ``text.py``, the words that all of them share; ``requests.py`` is what comes out.
"""
