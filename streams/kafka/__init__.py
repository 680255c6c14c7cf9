"""Kafka's clients: topics, producer, security, the embedded broker, and Faust's transport.

In: librdkafka settings, and messages as plain values. Out: messages on topics.
Start with ``messages.py`` (what a stage reads and writes) and ``producer.py`` (how it publishes).
"""
