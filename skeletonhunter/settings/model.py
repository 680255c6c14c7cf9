"""The settings, and what of them a command cannot do without."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from schemas import kafka_client
from schemas.secret_files import SecretFileError, read_secret
from skeletonhunter.errors import BadSettings, MissingSettings
from skeletonhunter.settings.declared import Declared


class Settings(Declared):
    """Create it by ``read``, which takes the environment."""

    def require_kafka(self) -> str:
        """The brokers; raises MissingSettings."""
        if not self.kafka:
            raise MissingSettings(["SKH_KAFKA"])
        return self.kafka

    def require_clickhouse(self) -> str:
        """The database's URL with its password; raises MissingSettings and BadSettings."""
        if self.clickhouse_url is None:
            raise MissingSettings(["SKH_CLICKHOUSE_URL"])
        url = self.clickhouse_url.get_secret_value()
        if self.clickhouse_password_file is None:
            return url
        name = "SKH_CLICKHOUSE_PASSWORD_FILE"
        scheme, _, rest = url.partition("://")
        user, at, host = rest.partition("@")
        if not at or ":" in user:
            raise BadSettings(f"{name}: SKH_CLICKHOUSE_URL must have a user and no password")
        try:
            password = read_secret(self.clickhouse_password_file).decode().strip()
        except SecretFileError as why:
            raise BadSettings(f"{name}: {why}") from why
        except UnicodeDecodeError:
            raise BadSettings(f"{name}: the password is not UTF-8") from None
        return f"{scheme}://{user}:{quote(password, safe='')}@{host}"

    def require_tokens(self) -> Path:
        """The controller's file of tokens; raises BadSettings."""
        if self.controller_tokens is None:
            raise BadSettings(
                "SKH_CONTROLLER_TOKENS must be set; `skeletonhunter keys token` adds to the file"
            )
        return self.controller_tokens

    def require(self, *needs: Literal["kafka", "clickhouse"]) -> None:
        """Raises MissingSettings with the names of all needed settings that are absent."""
        missing = []
        if "kafka" in needs and not self.kafka:
            missing.append("SKH_KAFKA")
        if "clickhouse" in needs and self.clickhouse_url is None:
            missing.append("SKH_CLICKHOUSE_URL")
        if missing:
            raise MissingSettings(missing)

    def librdkafka(self) -> dict[str, Any]:
        """Settings for a confluent-kafka client."""
        return {**self.kafka_settings(), "bootstrap.servers": self.require_kafka()}

    def kafka_settings(self) -> dict[str, str]:
        """Settings of every Kafka client, without the brokers; raises BadSettings."""
        try:
            return kafka_client.with_password(
                kafka_client.parse_json(self.kafka_options.get_secret_value()),
                self.kafka_password_file,
            )
        except kafka_client.KafkaOptionError as why:
            raise BadSettings(f"SKH_KAFKA_PASSWORD_FILE: {why}") from why
