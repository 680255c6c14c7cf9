"""Settings of the command, from SKH_* variables: typed, frozen, read once in ``main``."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from skeletonhunter.errors import BadSettings, MissingSettings

PREFIX = "SKH_"
_AGENTS = frozenset({"SKH_PROBE_KEY"})  # read by skeletonhunter-agent, no business of ours


class Settings(BaseSettings):
    """Defaults run everything embedded."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    kafka: str | None = Field(default=None, description="Kafka brokers, host:port[,host:port...]")
    kafka_options: dict[str, Any] = Field(
        default_factory=dict,
        description="further librdkafka settings of our producers and the sink, as a JSON object",
    )
    clickhouse_url: SecretStr | None = Field(
        default=None, description="http(s)://user:password@host:8123/database of ClickHouse"
    )
    data: Path = Field(
        default=Path("var"), description="directory of the embedded database and socket"
    )
    group: str = Field(default="skh-stream", description="consumer group of the stream workers")
    topology: Path | None = Field(
        default=None,
        description="topology.json of the fabric; without it topology is learnt from records",
    )
    strategy: str = Field(default="hypothesis", description="registered localisation strategy")
    false_per_week: float = Field(
        default=1.0, gt=0, description="alarm budget: false incidents per fabric and week [count]"
    )
    lateness_s: float = Field(
        default=2.0,
        ge=0,
        le=60,
        description="how long a pane waits for stragglers after its end [s]",
    )
    session_s: float = Field(
        default=10.0,
        ge=6,
        le=300,
        description="a worker silent for so long loses its partitions [s]",
    )
    api_host: str = Field(
        default="127.0.0.1", description="address on which the page and API listen"
    )
    api_port: int = Field(
        default=8765, ge=0, le=65535, description="port of the page and API; 0: any free"
    )
    api_names: list[str] = Field(
        default_factory=list,
        description="host names besides loopback under which the API answers, as a JSON array",
    )
    health_host: str = Field(
        default="127.0.0.1",
        description="address on which stream, sink and api serve /healthz, /readyz and /metrics",
    )
    health_port: int | None = Field(
        default=None,
        ge=-1,
        le=65535,
        description="their port; default 8766 api, 8767 stream, 8768 sink; 0: any free, -1: none",
    )
    log_level: str = Field(
        default="WARNING",
        pattern="^(DEBUG|INFO|WARNING|ERROR)$",
        description="least level that is logged",
    )

    def require_kafka(self) -> str:
        """The brokers; raises MissingSettings."""
        if not self.kafka:
            raise MissingSettings(["SKH_KAFKA"])
        return self.kafka

    def require_clickhouse(self) -> str:
        """The database's URL; raises MissingSettings."""
        if self.clickhouse_url is None:
            raise MissingSettings(["SKH_CLICKHOUSE_URL"])
        return self.clickhouse_url.get_secret_value()

    def require(self, *needs: Literal["kafka", "clickhouse"]) -> None:
        """Raises MissingSettings that names all that are missing of what a command needs."""
        missing = []
        if "kafka" in needs and not self.kafka:
            missing.append("SKH_KAFKA")
        if "clickhouse" in needs and self.clickhouse_url is None:
            missing.append("SKH_CLICKHOUSE_URL")
        if missing:
            raise MissingSettings(missing)

    def librdkafka(self) -> dict[str, Any]:
        """Settings for a confluent-kafka client."""
        return {**self.kafka_options, "bootstrap.servers": self.require_kafka()}


def read(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the environment; raises BadSettings with one line: which variable, what, remedy."""
    env = os.environ if environ is None else environ
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    for name in sorted(env):
        if name.startswith(PREFIX) and name not in known | _AGENTS:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known))}"
            raise BadSettings(f"{name} is not a setting; {hint}")
    try:
        return Settings()
    except ValidationError as why:
        first = why.errors(include_url=False)[0]
        name = PREFIX + str(first["loc"][0]).upper() if first["loc"] else PREFIX
        value = "" if "URL" in name else f" is {env.get(name, '')!r}"
        raise BadSettings(f"{name}{value}: {first['msg']}") from None
    except Exception as why:  # pydantic-settings raises its own on unparsable JSON
        raise BadSettings(" ".join(str(why).split())) from None
