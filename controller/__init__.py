"""Whom to probe: topology, jobs and traffic in, one ping list per host out. Knows only schemas.

    inventory/   what operators have -> topology document
    tasks/       events about jobs and containers -> placement and maintenance documents
    ping_lists/  topology, containers, skeletons -> ping lists
    coverage/    ping lists, traceroutes -> links crossed, and the loss nameable on each
    skeleton/    throughput of rnics -> pairs that carry traffic

All of it is pure; brokers, HTTP and files are at the rim. docs/controller.md is the guide.
"""
