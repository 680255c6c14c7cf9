"""librdkafka's security settings -> the credentials of Faust's consumer, which is aiokafka's.

All other clients are librdkafka's and use the settings as they are. A setting that only one of both
supports is an error: half of the clients on a weaker connection would be worse.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import faust
from faust.types.auth import CredentialsT

from streams.errors import UnusableKafkaOption

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MECHANISM: Final = ("sasl.mechanism", "sasl.mechanisms")
_KNOWN: Final = frozenset({
    *_MECHANISM, "sasl.username", "sasl.password", "ssl.ca.location", "ssl.certificate.location",
    "ssl.key.location", "ssl.key.password", "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
})  # fmt: skip


def protocol(kafka: Mapping[str, Any]) -> str:
    """``security.protocol`` in capitals; raises UnusableKafkaOption."""
    found = str(kafka.get("security.protocol", "PLAINTEXT")).upper()
    if found not in _PROTOCOLS:
        raise UnusableKafkaOption("security.protocol", f"is not one of {', '.join(_PROTOCOLS)}")
    return found


def credentials(kafka: Mapping[str, Any]) -> CredentialsT | None:
    """``broker_credentials`` for Faust's app; None for PLAINTEXT.

    kafka  librdkafka settings; only security.*, sasl.* and ssl.* are read
    Raises UnusableKafkaOption for what Faust's consumer cannot do, and for files that cannot be
    read; never with a secret in it.
    """
    wanted = protocol(kafka)
    for name in sorted(kafka):
        if name.startswith(("sasl.", "ssl.", "enable.ssl.")) and name not in _KNOWN:
            raise UnusableKafkaOption(name, "is not supported by the stream worker's consumer")
    if wanted == "PLAINTEXT":
        return None
    context = _context(kafka) if wanted.endswith("SSL") else None
    if wanted == "SSL":
        return faust.SSLCredentials(context=context)
    mechanism = next((str(kafka[name]).upper() for name in _MECHANISM if name in kafka), "")
    if mechanism not in _MECHANISMS:
        raise UnusableKafkaOption("sasl.mechanism", f"is not one of {', '.join(_MECHANISMS)}")
    for name in ("sasl.username", "sasl.password"):
        if not kafka.get(name):
            raise UnusableKafkaOption(name, f"is needed with {mechanism}")
    return faust.SASLCredentials(
        username=str(kafka["sasl.username"]),
        password=str(kafka["sasl.password"]),
        ssl_context=context,
        mechanism=mechanism,
    )


def _context(kafka: Mapping[str, Any]) -> ssl.SSLContext:
    authority = kafka.get("ssl.ca.location")
    try:
        if authority is not None and Path(authority).is_dir():
            context = ssl.create_default_context(capath=authority)
        else:
            context = ssl.create_default_context(cafile=authority)
    except OSError as why:  # ssl.SSLError among them
        raise UnusableKafkaOption("ssl.ca.location", _why(authority, why)) from None
    if str(kafka.get("ssl.endpoint.identification.algorithm", "https")).lower() == "none":
        context.check_hostname = False
    if str(kafka.get("enable.ssl.certificate.verification", "true")).lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = kafka.get("ssl.certificate.location"), kafka.get("ssl.key.location")
    if (certificate is None) != (key is None):
        raise UnusableKafkaOption("ssl.certificate.location", "goes with ssl.key.location")
    if certificate is not None:
        try:
            # A password is always given: OpenSSL would ask on the terminal.
            context.load_cert_chain(certificate, key, str(kafka.get("ssl.key.password", "")))
        except OSError as why:
            text = _why(f"{certificate}, {key}", why)
            raise UnusableKafkaOption("ssl.certificate.location", text) from None
    return context


def _why(files: object, why: OSError) -> str:
    reason = why.reason if isinstance(why, ssl.SSLError) and why.reason else why.strerror
    return f"({files}): {reason or type(why).__name__}"
