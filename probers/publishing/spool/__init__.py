"""Messages on disk until the broker has them: survive an outage of Kafka and of the agent."""

from probers.publishing.spool.publisher import SpooledPublisher
from probers.publishing.spool.spool import Spool, SpoolError, SpoolLimits

__all__ = ["Spool", "SpoolError", "SpoolLimits", "SpooledPublisher"]
