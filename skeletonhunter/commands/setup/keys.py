"""``skeletonhunter keys``: what senders sign with, and tokens of the controller and the API."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from skeletonhunter.errors import BadInput


def register(app: typer.Typer) -> None:
    """Add ``keys``."""
    keys = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Keys that senders sign with (of hosts, master keys); tokens of controller and API.",
        epilog="Example: skeletonhunter keys new --ring /etc/skeletonhunter/sender-keys",
    )
    app.add_typer(keys, name="keys")

    @keys.command(epilog="Example: skeletonhunter keys new --ring /etc/skeletonhunter/sender-keys")
    def new(
        ring: Annotated[
            Path | None,
            typer.Option(
                help="Key ring that gets it as its first key, created if absent; default: print it."
            ),
        ] = None,
        key_id: Annotated[
            str | None,
            typer.Option(help="Name of the key; default: today's date and a random number."),
        ] = None,
    ) -> int:
        """Create a master key. Keys in the ring stay valid until their lines are removed."""
        from schemas.signing.keys import KeyRing, SigningError, new_master

        name = key_id or f"{datetime.now(UTC):%Y-%m-%d}-{os.urandom(2).hex()}"
        line = f"{name}:{new_master().hex()}\n"
        try:
            KeyRing.parse(line)
            if ring is None:
                typer.echo(line, nl=False)
                return 0
            text = line + (_text(ring) if ring.exists() else "")
            KeyRing.parse(text)
        except SigningError as why:
            raise BadInput(f"{ring or '--key-id'}: {why}") from None
        _replace(ring, text)
        typer.echo(f"{ring}: {name} is the newest key")
        return 0

    @keys.command(
        epilog="Example: (umask 077; skeletonhunter keys host --ring sender-keys --fabric f1 "
        "--node-sn host-17 > sender.key)"
    )
    def host(
        ring: Annotated[Path, typer.Option(help="Key ring.")],
        node_sn: Annotated[str, typer.Option(help="Serial number of the host.")],
        fabric: Annotated[str, typer.Option(help="Fabric of the host.")] = "default",
    ) -> int:
        """Print the content of a host's key file (agent: --sender-key-file)."""
        from schemas.signing.keys import KeyRing, SigningError

        try:
            typer.echo(KeyRing.parse(_text(ring)).host_key(fabric, node_sn).document())
        except SigningError as why:
            raise BadInput(f"{ring}: {why}") from None
        return 0

    @keys.command(
        epilog="Example: (umask 077; skeletonhunter keys token --tokens tokens --fabric f1 "
        "--node-sn host-17 > host-17.token)"
    )
    def token(
        tokens: Annotated[Path, typer.Option(help="The controller's file; created if absent.")],
        node_sn: Annotated[str, typer.Option(help="Serial number of a host.")] = "",
        fabric: Annotated[str, typer.Option(help="Fabric of the host.")] = "default",
        operator: Annotated[str, typer.Option(help="Or the name of an operator.")] = "",
    ) -> int:
        """Create a token for the controller and print it; the file gets its hash only.

        Earlier tokens of the same name stay valid until their lines are removed.
        """
        from controller.service import tokens as controller_tokens

        if bool(node_sn) == bool(operator):
            raise BadInput("give one of --node-sn and --operator")
        new = controller_tokens.new_token()
        try:
            line = (
                controller_tokens.operator_line(operator, new)
                if operator
                else controller_tokens.agent_line((fabric, node_sn), new)
            )
            text = (_text(tokens) if tokens.exists() else "") + line
            controller_tokens.parse(text, str(tokens))
        except controller_tokens.TokenError as why:
            raise BadInput(str(why)) from None
        _replace(tokens, text)
        typer.echo(new)
        return 0

    @keys.command(
        epilog="Example: (umask 077; skeletonhunter keys api-token --tokens api-tokens "
        "--name alice --role operator > alice.token)"
    )
    def api_token(
        tokens: Annotated[Path, typer.Option(help="The API's file; created if absent.")],
        name: Annotated[str, typer.Option(help="Who uses it; actions are stored under it.")],
        role: Annotated[
            str, typer.Option(help="viewer reads, operator acts, admin acts for others too.")
        ] = "viewer",
        tenant: Annotated[
            list[str] | None, typer.Option(help="See this tenant only; repeatable.")
        ] = None,
    ) -> int:
        """Create a token for the API and print it; the file gets its hash only."""
        from api.access import tokens as api_tokens
        from api.access.callers import ROLES, Caller

        known = next((each for each in ROLES if each == role), None)
        if known is None:
            raise BadInput(f"--role {role}: choose of {', '.join(ROLES)}")
        new = api_tokens.new_token()
        try:
            line = api_tokens.line(Caller(name, known, tuple(tenant or ())), new)
            text = (_text(tokens) if tokens.exists() else "") + line
            api_tokens.parse(text, str(tokens))
        except api_tokens.TokenError as why:
            raise BadInput(str(why)) from None
        _replace(tokens, text)
        typer.echo(new)
        return 0


def _text(ring: Path) -> str:
    from schemas.secret_files import SecretFileError, read_secret

    try:
        return read_secret(ring).decode()
    except SecretFileError as why:
        raise BadInput(str(why)) from why
    except UnicodeDecodeError:
        raise BadInput(f"{ring}: not UTF-8, so not a key ring") from None


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically, readable by its owner only: services read it at any time."""
    try:
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
        try:
            with open(number, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as why:
        raise BadInput(f"{path}: {why.strerror}; give a path in a writable directory") from why
