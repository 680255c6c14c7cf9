"""The settings: name, type, default, meaning, and which commands read each."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from schemas import kafka_client
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.parameters.window_timing import DEFAULT_TIMING

PREFIX = "SKH_"


def _read_by(
    *commands: str, unit: str = "", secret: bool = False, allowed: str = ""
) -> dict[str, Any]:
    """The rest of a setting's row in docs/settings.md.

    commands  that read the setting
    secret    whether messages must not show its value
    allowed   its values in words, where a pattern says them
    """
    return {"read_by": commands, "unit": unit, "secret": secret, "allowed": allowed}


class Declared(BaseSettings):
    """The defaults run everything embedded."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, allow_inf_nan=False
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Leave the environment out: Kubernetes may have set an SKH_API_PORT of its own there."""
        return (init_settings,)

    kafka: str | None = Field(
        default=None,
        description="Kafka brokers, host:port[,host:port...]",
        json_schema_extra=_read_by(
            "stream",
            "sink",
            "topics --create",
            "fabric up",
            "topology publish",
            "maintenance",
            "jobs",
            "controller",
            "notify",
        ),
    )
    kafka_options: SecretStr = Field(
        default=SecretStr(""),
        description="further librdkafka settings of all clients, e.g. security, as a JSON object",
        json_schema_extra=_read_by(
            "stream",
            "sink",
            "topics --create",
            "fabric up",
            "topology publish",
            "maintenance",
            "jobs",
            "controller",
            "notify",
            "skeletonhunter-agent",
            secret=True,
        ),
    )
    kafka_password_file: Path | None = Field(
        default=None,
        description="file with sasl.password, readable by its owner only",
        json_schema_extra=_read_by(
            "stream",
            "sink",
            "topics --create",
            "fabric up",
            "topology publish",
            "maintenance",
            "jobs",
            "controller",
            "notify",
            "skeletonhunter-agent",
        ),
    )
    sender_keys: Path | None = Field(
        default=None,
        description="key ring of the senders (`skeletonhunter keys new`), readable by its owner "
        "only; agents must sign with a key of it",
        json_schema_extra=_read_by("up", "stream", "sink", "controller"),
    )
    unsigned_senders: Literal["refuse", "accept"] = Field(
        default="refuse",
        description="accept: messages without a signature are believed; any client of Kafka can "
        "then send in every host's name",
        json_schema_extra=_read_by("up", "stream", "sink", "controller"),
    )
    clickhouse_url: SecretStr | None = Field(
        default=None,
        description="http(s)://user:password@host:8123/database of ClickHouse",
        json_schema_extra=_read_by("sink", "api", "migrate", "sql", "load", secret=True),
    )
    clickhouse_password_file: Path | None = Field(
        default=None,
        description="file with the password of the URL's user, readable by its owner only; the URL "
        "then has none",
        json_schema_extra=_read_by("sink", "api", "migrate", "sql", "load"),
    )
    clickhouse_cluster: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$",
        description="cluster of ClickHouse (a name of its remote_servers) whose servers get the "
        "tables, replicated and Distributed; without it the tables are those of one server",
        json_schema_extra=_read_by(
            "migrate", allowed="a name of at most 64 letters, digits and _, no digit first"
        ),
    )
    data: Path = Field(
        default=Path("var"),
        description="directory of the embedded database and socket",
        json_schema_extra=_read_by("up", "sql", "load"),
    )
    group: str = Field(
        default="skh-stream",
        description="consumer group of the stream workers",
        json_schema_extra=_read_by("stream"),
    )
    instance: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="name of this stream worker in its group, the same after a restart and no "
        "other's, e.g. of its pod: a worker that was killed goes on as soon as it is started; "
        "without it its group waits `SKH_SESSION_S` for it. Of two workers with one name the older "
        "ends. {hostname} in it becomes the host's name, in a container the container's",
        json_schema_extra=_read_by("stream"),
    )
    topology: Path | None = Field(
        default=None,
        description="topology.json of the fabric; without it topology is learnt from records",
        json_schema_extra=_read_by("up", "stream", "sink"),
    )
    strategy: str = Field(
        default="hypothesis",
        description="registered localization strategy",
        json_schema_extra=_read_by("up", "stream"),
    )
    false_per_week: float = Field(
        default=1.0,
        gt=0,
        description="alarm budget: false incidents per fabric and week",
        json_schema_extra=_read_by("up", "stream", unit="count"),
    )
    lateness_s: float = Field(
        default=DEFAULT_TIMING.lateness_s,
        ge=0,
        le=60,
        description="how long a pane waits for late records after its end",
        json_schema_extra=_read_by("up", "stream", unit="s"),
    )
    session_s: float = Field(
        default=10.0,
        ge=6,
        le=300,
        description="a worker that is silent for so long loses its partitions",
        json_schema_extra=_read_by("stream", unit="s"),
    )
    api_host: str = Field(
        default="127.0.0.1",
        description="address on which the page and API listen",
        json_schema_extra=_read_by("up", "api"),
    )
    api_port: int = Field(
        default=8765,
        ge=0,
        le=65535,
        description="port of the page and API; 0: any free",
        json_schema_extra=_read_by("up", "api"),
    )
    api_names: list[str] = Field(
        default_factory=list,
        description="host names besides loopback under which the API answers, as a JSON array",
        json_schema_extra=_read_by("up", "api"),
    )
    api_tokens: Path | None = Field(
        default=None,
        description="file with the hashes of the API's tokens (`skeletonhunter keys api-token`), "
        "readable by its owner only; every request of the API then needs one",
        json_schema_extra=_read_by("up", "api"),
    )
    api_without_tokens: Literal["loopback", "read"] = Field(
        default="loopback",
        description="loopback: without tokens the API listens on loopback only; read: elsewhere "
        "too, and anyone who reaches it may read",
        json_schema_extra=_read_by("up", "api"),
    )
    api_rate: float = Field(
        default=50.0,
        ge=0,
        le=100_000,
        description="requests of the API that one client (a token, else an address) may make in "
        "the long run; at once four times as many; 0: any",
        json_schema_extra=_read_by("up", "api", unit="1/s"),
    )
    api_sql: bool = Field(
        default=False,
        description="whether the API answers SQL at /api/v1/sql: one SELECT at a time, read-only, "
        "bounded; `demo` does",
        json_schema_extra=_read_by("up", "api"),
    )
    api_drain_s: float = Field(
        default=0.0,
        ge=0,
        le=300,
        description="after SIGTERM the API is not ready (`/readyz`) but still answers for so long, "
        "so that a load balancer loses no request; a second signal ends that",
        json_schema_extra=_read_by("api", unit="s"),
    )
    health_host: str = Field(
        default="127.0.0.1",
        description="address on which stream, sink, api, controller and notify serve /healthz, "
        "/readyz and /metrics",
        json_schema_extra=_read_by("stream", "sink", "api", "controller", "notify"),
    )
    health_port: int | None = Field(
        default=None,
        ge=-1,
        le=65535,
        description="their port; default 8766 api, 8767 stream, 8768 sink, 8769 controller, "
        "8771 notify; 0: any free, -1: none",
        json_schema_extra=_read_by("stream", "sink", "api", "controller", "notify"),
    )
    controller_host: str = Field(
        default="127.0.0.1",
        description="address on which the controller listens for agents and operators; their "
        "tokens are sent as they are, so put TLS before it where the network is not trusted",
        json_schema_extra=_read_by("up", "controller"),
    )
    controller_port: int = Field(
        default=8770,
        ge=0,
        le=65535,
        description="its port; 0: any free",
        json_schema_extra=_read_by("up", "controller"),
    )
    controller_tokens: Path | None = Field(
        default=None,
        description="file with the hashes of the tokens of agents and operators "
        "(`skeletonhunter keys token`), readable by its owner only",
        json_schema_extra=_read_by("up", "controller"),
    )
    controller_url: str = Field(
        default="http://127.0.0.1:8770",
        pattern="^https?://[^/, ]+/?(,https?://[^/, ]+/?)*$",
        description="where commands reach the controller; of several controllers all, with commas",
        json_schema_extra=_read_by(
            "jobs", "probe", allowed="http(s)://host:port without a path, several with commas"
        ),
    )
    controller_token_file: Path | None = Field(
        default=None,
        description="file with an operator's token (`skeletonhunter keys token --operator`), "
        "readable by its owner only",
        json_schema_extra=_read_by("jobs", "probe"),
    )
    controller_interval_s: float = Field(
        default=1.0,
        ge=0.01,
        le=3600,
        description="time between two probes of a five-tuple in the lists, longer where the caps "
        "of agents and rnics need it",
        json_schema_extra=_read_by("up", "controller", unit="s"),
    )
    controller_dscp: int = Field(
        default=0,
        ge=0,
        le=63,
        description="DSCP that agents mark probes with",
        json_schema_extra=_read_by("up", "controller"),
    )
    controller_feedback: bool = Field(
        default=True,
        description="whether open incidents make requests to agents, which tell tie sets apart",
        json_schema_extra=_read_by("up", "controller"),
    )
    controller_kubernetes: str | None = Field(
        default=None,
        min_length=1,
        description="namespace whose pods the controller follows, `*`: all namespaces; the cluster "
        "is that of KUBECONFIG, else its own",
        json_schema_extra=_read_by("controller"),
    )
    controller_kubernetes_selector: str = Field(
        default="",
        description="labels of the pods that are followed, as for `kubectl get pods -l`; empty: "
        "every pod with the label of a job",
        json_schema_extra=_read_by("controller"),
    )
    controller_kubernetes_fabric: str = Field(
        default=DEFAULT_FABRIC,
        min_length=1,
        description="fabric that the followed pods are in",
        json_schema_extra=_read_by("controller"),
    )
    controller_kubernetes_job_labels: list[str] = Field(
        default_factory=list,
        description="further labels that name a pod's job, before those of the known operators, "
        "as a JSON array",
        json_schema_extra=_read_by("controller"),
    )
    controller_kubernetes_rails: list[str] = Field(
        default_factory=list,
        description="names of the pods' RDMA networks in order of rails, as a JSON array; empty: "
        "pods have one for each rnic, in that order",
        json_schema_extra=_read_by("controller"),
    )
    notify: Path | None = Field(
        default=None,
        description="file that says whom to notify of incidents, and how; `up` then notifies too",
        json_schema_extra=_read_by("up", "notify"),
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="WARNING",
        description="lowest level that is logged: DEBUG, INFO, WARNING or ERROR",
        json_schema_extra=_read_by("up", "stream", "sink", "api", "controller", "notify"),
    )
    log_format: Literal["text", "json"] = Field(
        default="text",
        description="text, or json: each line on stderr is an object with time, level, logger and "
        "message (the agent: time, level, event and its fields)",
        json_schema_extra=_read_by(
            "up", "stream", "sink", "api", "controller", "notify", "skeletonhunter-agent"
        ),
    )

    @field_validator("instance")
    @classmethod
    def _with_the_name_of_the_host(cls, value: str | None) -> str | None:
        return value if value is None else value.replace("{hostname}", socket.gethostname())

    @field_validator("kafka")
    @classmethod
    def _has_ports(cls, value: str | None) -> str | None:
        if value is not None:
            kafka_client.check_bootstrap(value)
        return value

    @field_validator("kafka_options")
    @classmethod
    def _is_an_object(cls, value: SecretStr) -> SecretStr:
        kafka_client.parse_json(value.get_secret_value())
        return value
