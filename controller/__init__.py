"""Whom to probe: topology, jobs and traffic in, one ping list per host out. Knows only schemas.

    inventory/   what operators have -> topology document
    tasks/       events about jobs and containers -> placement and maintenance documents
    ping_lists/  topology, containers, skeletons -> ping lists
    coverage/    ping lists, traceroutes -> links crossed, and the loss nameable on each
    skeleton/    throughput of rnics -> pairs that carry traffic
    slurm_drain/ the blacklist, Slurm's nodes -> nodes that are drained and resumed
    service/     requests of agents and operators over HTTP

All but ``service`` is pure, and brokers are its caller's. docs/controller.md is the guide.
"""
