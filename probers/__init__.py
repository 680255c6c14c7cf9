"""Measure and publish: what runs on every training host.

``wire`` and ``responder`` say what a probe is and who gets an answer; ``doors`` holds the sockets;
``udp`` and ``traceroute`` measure; ``record``, ``encode``, ``outbox`` and ``publish*`` carry the
results away; ``relay`` takes them in for others; ``pinglist`` and ``watch`` say whom to probe;
``daemon`` puts it together; ``agent`` is the command ``skeletonhunter-agent``. ``rdma*`` is the
skeleton of the RDMA engine. An agent must stay small: nothing here imports numpy, pyarrow, pandas,
pydantic, typer or rich.
"""
