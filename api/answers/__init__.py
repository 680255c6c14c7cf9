"""What answers of all routes have in common.

``problems``: errors as RFC 9457 documents; ``shared``: equal questions, ETag; ``methods``:
OPTIONS; ``openapi``: the description of the API.
"""
