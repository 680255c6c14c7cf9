"""``skeletonhunter topics``: the Kafka topics, listed or created; JSON Schemas of documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from skeletonhunter import terminal


def register(app: typer.Typer) -> None:
    """Add ``topics``."""

    @app.command(epilog="Example: SKH_KAFKA=localhost:9092 skeletonhunter topics --create")
    def topics(
        create: Annotated[bool, typer.Option(help="Create the topics that are missing.")] = False,
        agents: Annotated[
            str,
            typer.Option(
                help="With --create: the agents' user of Kafka, who gets the right to "
                "write what agents write (the brokers need an authorizer)."
            ),
        ] = "",
        json_schemas: Annotated[
            Path | None, typer.Option(help="Write the documents' JSON Schemas into this folder.")
        ] = None,
        form: Annotated[
            Literal["table", "strimzi"],
            typer.Option(
                "--format",
                help="strimzi: KafkaTopic and KafkaUser objects for its operator, in YAML.",
            ),
        ] = "table",
        cluster: Annotated[
            str, typer.Option(help="With strimzi: name of the Kafka object.")
        ] = "kafka",
        namespace: Annotated[
            str, typer.Option(help="With strimzi: namespace of the Kafka object.")
        ] = "kafka",
    ) -> int:
        """List every Kafka topic, or create the missing ones."""
        if json_schemas is not None:
            _write_schemas(json_schemas)
        elif create:
            _create_topics(agents)
        elif form == "strimzi":
            _print_strimzi(cluster, namespace)
        else:
            _list_topics()
        return 0


def _write_schemas(folder: Path) -> None:
    from schemas.json_schemas import write

    for path in write(folder):
        terminal.echo(str(path))


def _print_strimzi(cluster: str, namespace: str) -> None:
    import yaml

    from skeletonhunter.deployment import strimzi

    objects = strimzi.topic_objects(cluster, namespace) + strimzi.user_objects(cluster, namespace)
    terminal.echo(yaml.safe_dump_all(objects, sort_keys=False).rstrip())


def _list_topics() -> None:
    from schemas.topics import ALL

    rows = [("topic", "partitions", "key", "from", "to")]
    for topic in ALL:
        partitions = f"{topic.partitions}{', compacted' if topic.compacted else ''}"
        rows.append((topic.name, partitions, topic.key, topic.producer, ", ".join(topic.consumers)))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        cells = [row[i].ljust(widths[i]) for i in range(4)]
        terminal.echo("  ".join([*cells, row[4]]).rstrip())


def _create_topics(agents: str) -> None:
    from skeletonhunter import settings
    from skeletonhunter.services.broker import check_broker
    from streams.kafka import admin

    config = settings.read()
    check_broker(config)
    for topic in admin.create(config.librdkafka()):
        terminal.echo(f"made {topic.name} ({topic.partitions} partitions)")
    for each in admin.state(config.librdkafka()):
        if each.partitions != each.topic.partitions:
            terminal.echo(
                f"{each.topic.name} has {each.partitions} partitions; "
                f"this release expects {each.topic.partitions}",
                err=True,
            )
    if agents:
        names = admin.allow_agents(config.librdkafka(), agents)
        terminal.echo(f"{agents} may write {', '.join(names)}")
