"""Records come in, the bytes of one message go out.

Start reading at ``encode``; ``arrow_batch`` writes a batch of records as Arrow does.
"""
