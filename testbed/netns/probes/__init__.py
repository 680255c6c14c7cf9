"""Real agents in the fabric, and the relay that collects what they publish.

In: a built fabric. Out: agents' processes with their ping lists; records and heartbeats in files,
or in Kafka. Start with ``agents.py``; ``controlled_agents`` have their lists and requests from a
controller; ``collector`` starts ``collect`` as a process of its own.
``traffic`` is what a training job sends, ``loopback_port`` how agents reach a controller.
"""
