"""Selects the publisher for an address: Kafka, a relay's unix socket, or a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from probers.publishing.publisher import Publisher, PublishUsageError
from probers.publishing.signer import Signer
from probers.publishing.spool import Spool, SpooledPublisher, SpoolLimits


def publish_to(
    destination: str,
    *,
    compression: str = "zstd",
    signer: Signer | None = None,
    kafka: Mapping[str, str] | None = None,
    spool: str = "",
    spool_limits: SpoolLimits | None = None,
) -> Publisher:
    """A publisher to ``unix:PATH``, ``kafka:HOST:PORT[,HOST:PORT]`` or ``file:PATH``
    (``file:-``: stdout); it is not connected yet.

    signer  signs what goes to Kafka or a relay
    kafka   further librdkafka settings
    spool   folder where messages to Kafka are kept until the broker has them; "": none
    Raises PublishUsageError for any other address, SpoolError.
    """
    scheme, _, rest = destination.partition(":")
    if spool and scheme != "kafka":
        raise PublishUsageError(f"--spool is for kafka:HOST:PORT, not for {destination!r}")
    # Each publisher is imported only when it is used: librdkafka costs an agent memory.
    if rest and scheme == "file":
        from probers.publishing.file import FilePublisher

        return FilePublisher(rest)
    if rest and scheme == "unix":
        from probers.publishing.unix import UnixPublisher

        return UnixPublisher(rest, signer=signer)
    if rest and scheme == "kafka":
        from probers.publishing.kafka import KafkaPublisher

        publisher = KafkaPublisher(rest, compression=compression, signer=signer, options=kafka)
        if not spool:
            return publisher
        return SpooledPublisher(publisher, Spool(Path(spool), spool_limits))
    raise PublishUsageError(
        f"cannot publish to {destination!r}; give unix:PATH, kafka:HOST:PORT or file:PATH"
    )
