"""What ping lists cover: lists, topology and traceroutes in, the smallest loss nameable a link out.

Start in ``report``. ``crossings`` counts five-tuples, by the ``pieces`` of what lies between two
ToRs; ``power`` turns counts into the smallest loss, ``cadence`` plans an interval backwards from a
loss. Pure.
"""
