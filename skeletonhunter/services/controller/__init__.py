"""The controller in a process: against a broker, for agents and operators over HTTP.

In: topics of the site, skh.throughput, requests, pods of a cluster. Out: ping lists, documents.
Start in ``service``, which the command (``command``) and the embedded runtime start alike.
"""
