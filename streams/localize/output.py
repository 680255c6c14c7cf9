"""Incidents and anomalies as messages of their topics."""

from __future__ import annotations

from localizer.localizer import LocalizerOutput
from schemas import topics
from schemas.documents import coverage, incident
from schemas.documents.coverage import Coverage
from schemas.documents.incident import Incident
from streams.kafka.messages import OutMessage


def incident_message(document: Incident) -> OutMessage:
    """A message of skh.incidents; its key is the incident, so that versions stay in order."""
    key = document.incident_id.encode()
    return OutMessage(topics.INCIDENTS.name, key, incident.encode(document), [])


def coverage_message(document: Coverage) -> OutMessage:
    """A message of skh.coverage."""
    return OutMessage(topics.COVERAGE.name, document.fabric.encode(), coverage.encode(document), [])


def output_messages(output: LocalizerOutput) -> list[OutMessage]:
    """Anomalies, then incidents."""
    anomalies = [
        OutMessage(topics.ANOMALIES.name, each.path_id.encode(), incident.encode(each), [])
        for each in output.anomalies
    ]
    return anomalies + [incident_message(each) for each in output.incidents]
