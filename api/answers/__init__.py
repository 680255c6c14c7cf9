"""What answers of all routes have in common.

``problems``: errors as RFC 9457 documents; ``conditional``: ETag and If-None-Match; ``methods``:
OPTIONS; ``openapi``: the description of the API.
"""
