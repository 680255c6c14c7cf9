"""What docker-compose.yml, all parts on one machine, needs before its first start.

In: an empty directory. Out: passwords, keys, tokens, certificates and the configuration files of
Kafka and ClickHouse that hold them. Start with ``secrets``. In Kubernetes: ``strimzi``, topics and
users of Kafka as objects of its operator.
"""
