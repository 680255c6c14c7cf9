"""Paths and what they cross: path table, switch graph, traced routes, ECMP paths, incidence.

In: path descriptions, traceroutes and a topology. Out: the incidence of paths and components, and
classes of components that probes cannot tell apart. Start with ``path_table`` and ``switch_graph``,
then ``incidence`` (four files), then ``observability``.
"""
