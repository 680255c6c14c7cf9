"""Which components each path crosses, in which direction, with what share: M = H S.

In: paths, traceroutes (chunks of skh.windows) and a topology. Out: ``FactoredIncidence``.
Start with ``factored`` (the product), then ``segments`` (S), ``incidence`` (H), ``endpoint_codes``.
"""
