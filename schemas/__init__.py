"""What all packages share: records, documents, topics, metrics; bytes in, checked data out.

Start in ``documents.ping`` (the 45-column record) and ``topics`` (every Kafka topic). ``wire`` and
``identity`` need numpy and pyarrow and are not for agents. Imports no other package of ours.
"""
