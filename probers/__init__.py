"""The agent of every training host: measures paths, answers its peers, publishes records.

    ping_list/   the document that names endpoints and targets     -> PingList
    containers/  agents of this host's containers                  <-> unix socket
    process/     event loop, log, failed threads
    net/         packets, sockets, responder, hand-over            <-> the fabric
    probing/     schedules, UDP probes, traceroutes                -> Burst, Trace
    publishing/  records, messages, Kafka, relay                   -> skh.pings, skh.heartbeats
    throughput/  counters of the rnics that jobs use               -> skh.throughput
    health/      heartbeats, counters, /metrics
    agent/       the command ``skeletonhunter-agent``: start reading in ``agent.agent``
    command_line/  its options, checked
    rdma/        probes between RDMA queue pairs, scheduled and by hand

In: a ping list. Out: records, heartbeats and throughput. The agent stays small: nothing here
imports numpy, pyarrow, pandas, pydantic, typer or rich.
"""
