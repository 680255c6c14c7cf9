"""``skeletonhunter compose-secrets``: what docker-compose.yml needs before its first start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skeletonhunter import terminal


def register(app: typer.Typer) -> None:
    """Add ``compose-secrets``."""
    app.command(
        "compose-secrets",
        epilog="Example: skeletonhunter compose-secrets /secrets --outside kafka.example.com:9092",
    )(compose_secrets)


def compose_secrets(
    folder: Annotated[Path, typer.Argument(help="Has a folder for each image.")],
    outside: Annotated[
        str, typer.Option(help="host:port where agents reach Kafka; the certificate has the host.")
    ] = "localhost:9092",
    inside: Annotated[
        str, typer.Option(help="host:port where the other containers reach Kafka.")
    ] = "kafka:19092",
    mounted: Annotated[
        str, typer.Option(help="Where Kafka's folder is mounted in its container.")
    ] = "/run/kafka",
    data: Annotated[
        str, typer.Option(help="Where Kafka's container has its messages.")
    ] = "/var/lib/kafka/data",
    change_owner: Annotated[
        bool, typer.Option(help="Give each folder to the user of its container (as root).")
    ] = True,
) -> int:
    """Generate the secrets of docker-compose.yml where they are missing.

    Passwords, the senders' key ring, tokens, certificates, and the configuration files that hold
    them; a second run keeps what was generated.
    """
    from skeletonhunter.deployment import secrets

    addresses = secrets.Addresses(inside, outside, mounted, data)
    written = secrets.make(folder, addresses, change_owner=change_owner)
    terminal.echo(f"{folder}: {len(written)} files written")
    return 0
