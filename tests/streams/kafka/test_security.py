"""librdkafka's security settings as Faust's credentials, or an error in one line."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import faust
import pytest

from streams.errors import BrokerUnreachable, UnusableKafkaOption
from streams.kafka import admin, security

SCRAM = {
    "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "skh",
    "sasl.password": "s3cret",
}  # fmt: skip


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=test", "-keyout", "one.key", "-out", "one.pem"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder


def test_plaintext_needs_no_credentials() -> None:
    assert security.credentials({"linger.ms": 5}) is None
    assert security.credentials({"security.protocol": "plaintext"}) is None


def test_scram_over_tls_is_scram_over_tls_for_faust_too(pair: Path) -> None:
    found = security.credentials(SCRAM | {"ssl.ca.location": str(pair / "one.pem")})
    assert isinstance(found, faust.SASLCredentials)
    assert (found.protocol.value, found.mechanism.value) == ("SASL_SSL", "SCRAM-SHA-512")
    assert (found.username, found.password) == ("skh", "s3cret")
    assert found.ssl_context is not None
    assert found.ssl_context.verify_mode is ssl.CERT_REQUIRED
    assert found.ssl_context.check_hostname
    assert "s3cret" not in repr(found)


def test_client_certificates_are_loaded_and_names_are_checked_by_default(
    pair: Path,
) -> None:
    options = {
        "security.protocol": "SSL", "ssl.ca.location": str(pair / "one.pem"),
        "ssl.certificate.location": str(pair / "one.pem"),
        "ssl.key.location": str(pair / "one.key"),
    }  # fmt: skip
    found = security.credentials(options)
    assert isinstance(found, faust.SSLCredentials)
    assert found.context.check_hostname
    relaxed = security.credentials(options | {"ssl.endpoint.identification.algorithm": "none"})
    assert isinstance(relaxed, faust.SSLCredentials)
    assert not relaxed.context.check_hostname
    assert relaxed.context.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"security.protocol": "tls"}, "security.protocol"),
        ({"sasl.mechanism": "GSSAPI"}, "sasl.mechanism"),
        ({"sasl.mechanism": "OAUTHBEARER"}, "sasl.mechanism"),
        ({"sasl.password": ""}, "sasl.password"),
        ({"sasl.username": ""}, "sasl.username"),
        ({"sasl.kerberos.keytab": "/x"}, "sasl.kerberos.keytab"),
        ({"ssl.keystore.location": "/x"}, "ssl.keystore.location"),
        ({"ssl.ca.location": "/nonexistent.pem"}, "ssl.ca.location"),
        ({"ssl.certificate.location": "/nonexistent.pem"}, "ssl.certificate.location"),
        ({"ssl.certificate.location": "/no.pem", "ssl.key.location": "/no.key"}, "/no.pem"),
    ],
)
def test_what_faust_cannot_do_is_an_error_for_all_clients(
    changed: dict[str, str], names: str
) -> None:
    with pytest.raises(UnusableKafkaOption) as why:
        admin.check(SCRAM | changed | {"bootstrap.servers": "127.0.0.1:1"})
    assert names in str(why.value)
    assert "\n" not in str(why.value)
    assert "s3cret" not in str(why.value)


def test_an_option_that_librdkafka_does_not_know_is_named() -> None:
    with pytest.raises(UnusableKafkaOption, match=r"no\.such"):
        admin.check({"no.such": "1", "bootstrap.servers": "127.0.0.1:1"})


def test_a_missing_broker_is_reported_before_any_handshake(pair: Path) -> None:
    options = SCRAM | {"ssl.ca.location": str(pair / "one.pem"), "bootstrap.servers": "127.0.0.1:1"}
    with pytest.raises(BrokerUnreachable, match=r"127\.0\.0\.1:1"):
        admin.check(options, timeout_s=2.0)
