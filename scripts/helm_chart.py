"""The Helm chart, made from the manifests of k8s/base and the autoscalers of k8s/components: each
value that sites differ in becomes an expression, whose default in values.yaml is what those say."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[1]
BASE: Final = ROOT / "k8s" / "base"
SCALERS: Final = ROOT / "k8s" / "components"
CHART: Final = ROOT / "k8s" / "helm" / "skeletonhunter"
PARTS: Final = "skeletonhunter"
AGENTS: Final = "skeletonhunter-agents"
#: Files of the base that a value leaves out.
_OPTIONAL: Final = {
    "namespaces.yaml": "namespaces.create", "network-policies.yaml": "networkPolicies.enabled",
    "agent.yaml": "agent.enabled", "notify.yaml": "notify.enabled",
}  # fmt: skip
#: Fields of pods of which the base says nothing: written where the value is not empty.
_SCHEDULING: Final = ("nodeSelector", "tolerations", "affinity", "priorityClassName")
#: Whose number of pods an autoscaler may have in its hands.
_SCALED: Final = ("api.yaml", "worker.yaml")
_REPLICAS: Final = re.compile(r"^( *)(replicas: XX\d+XX)$", re.M)
_NOTE: Final = "# Written by scripts/kubernetes_objects.py --write, from k8s/{name}.\n"
_MARK: Final = re.compile(r"XX(\d+)XX")
_IF_GIVEN: Final = re.compile(r"^( *)YY(\w+)YY(\d+): null$", re.M)

Object = dict[str, Any]


class Chart:
    """The files of the chart; ``values`` fills as templates are made."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {
            "image": {"registry": "", "tag": "", "digests": {"server": "", "agent": ""},
                      "pullSecrets": []},
            "namespaces": {"create": False, "parts": PARTS, "agents": AGENTS},
            "secret": "skeletonhunter",
            "kafka": {}, "clickhouse": {}, "monitoring": {}, "logLevel": "INFO",
            "scheduling": {"nodeSelector": {}, "tolerations": [], "affinity": {},
                           "priorityClassName": ""},
            "networkPolicies": {"enabled": True},
            "autoscaling": {"enabled": False, "keda": False, "api": {}, "worker": {}},
        }  # fmt: skip
        self._expressions: list[str] = []

    def template(self, name: str) -> str:
        """The template of a file of the base."""
        objects = [each for each in yaml.safe_load_all((BASE / name).read_text()) if each]
        for each in objects:
            self._parametrize(each)
        text = yaml.safe_dump_all(objects, sort_keys=False, width=1 << 20)
        text = _IF_GIVEN.sub(self._if_given, text)
        if name in _SCALED:
            unless = r"\1{{- if not .Values.autoscaling.enabled }}\n\1\2\n\1{{- end }}"
            text = _REPLICAS.sub(unless, text)
        text = self._with_expressions(text)
        if name in _OPTIONAL:
            text = f"{{{{- if .Values.{_OPTIONAL[name]} }}}}\n{text}{{{{- end }}}}\n"
        return _NOTE.format(name=f"base/{name}") + text

    def autoscalers(self) -> str:
        """The template of the autoscalers; the worker has one, or KEDA's object."""
        api, worker = yaml.safe_load_all((SCALERS / "autoscaling/autoscalers.yaml").read_text())
        lag = yaml.safe_load((SCALERS / "keda/scaled-object.yaml").read_text())
        for each in (api, worker):
            spec, name = each["spec"], each["metadata"]["name"]
            self._of_bounds(name, spec, "minReplicas", "maxReplicas")
            (metric,) = spec["metrics"]
            target = metric["resource"]["target"]
            cpu = target["averageUtilization"]
            target["averageUtilization"] = self._value(f"autoscaling.{name}.cpu", cpu)
        spec, text = lag["spec"], "{{ %s | toString | toJson }}"
        self._of_bounds("worker", spec, "minReplicaCount", "maxReplicaCount")
        cpu, seconds = (each["metadata"] for each in spec["triggers"])
        cpu["value"] = self._value("autoscaling.worker.cpu", int(cpu["value"]), text)
        threshold = int(seconds["threshold"])
        seconds["threshold"] = self._value("autoscaling.lagSeconds", threshold, text)
        address = seconds["serverAddress"]
        seconds["serverAddress"] = self._value("autoscaling.prometheus", address)
        for each in (api, worker, lag):
            self._of_names(each)
        one, two, three = (
            yaml.safe_dump(each, sort_keys=False, width=1 << 20) for each in (api, lag, worker)
        )
        return self._with_expressions(
            _NOTE.format(name="components/{autoscaling,keda}")
            + f"{{{{- if .Values.autoscaling.enabled }}}}\n{one}---\n"
            f"{{{{- if .Values.autoscaling.keda }}}}\n{two}{{{{- else }}}}\n{three}{{{{- end }}}}\n"
            "{{- end }}\n"
        )

    def _of_bounds(self, name: str, spec: Object, *fields: str) -> None:
        for field, value in zip(fields, ("minReplicas", "maxReplicas"), strict=True):
            spec[field] = self._value(f"autoscaling.{name}.{value}", spec[field])

    def _with_expressions(self, text: str) -> str:
        return _MARK.sub(lambda found: self._expressions[int(found[1])], text)

    def _parametrize(self, each: Object) -> None:
        kind, name = each["kind"], each["metadata"]["name"]
        if kind == "ConfigMap":
            self._of_settings(name, each["data"])
        elif kind == "NetworkPolicy":
            self._of_policy(name, each["spec"])
        elif "template" in each.get("spec", {}):
            self._of_workload(name, each["spec"])
        self._of_names(each)

    def _of_workload(self, name: str, spec: Object) -> None:
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        values = self.values.setdefault(name, {})
        if name in ("notify", "agent"):
            values["enabled"] = True
        if "replicas" in spec:
            spec["replicas"] = self._value(f"{name}.replicas", spec["replicas"], "{{ %s }}")
        container["resources"] = self._value(f"{name}.resources", container["resources"])
        image = container["image"].partition(":")[0]
        digest = f".Values.image.digests.{image.rpartition('/')[2]}"
        container["image"] = self._mark(
            f"{{{{ .Values.image.registry }}}}{image}"
            f"{{{{ with {digest} }}}}@{{{{ . }}}}{{{{ else }}}}"
            ":{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}"
        )
        for field in _SCHEDULING if name != "agent" else ():
            pod[self._absent(field, f"scheduling.{field}")] = None
        pod[self._absent("imagePullSecrets", "image.pullSecrets")] = None
        if name == "agent":
            pod["nodeSelector"] = self._value("agent.nodeSelector", pod["nodeSelector"])
            (options,) = (e for e in container["env"] if e["name"] == "SKH_KAFKA_OPTIONS")
            options["value"] = self._value("kafka.agentOptions", options["value"])
            container["args"] = [self._of_argument(each) for each in container["args"]]
        for variable in container["env"]:
            if variable["name"] == "SKH_API_NAMES":
                own = '(list (printf "api.%s.svc" .Values.namespaces.parts))'
                values["names"] = []
                variable["value"] = self._mark(
                    f"{{{{ concat {own} .Values.api.names | toJson | quote }}}}"
                )
            elif variable["name"] == "SKH_CONTROLLER_KUBERNETES":
                variable["value"] = self._value("controller.pods", variable["value"])
            elif variable["name"] == "SKH_LOG_LEVEL":
                variable["value"] = self._value("logLevel", variable["value"])

    def _of_argument(self, argument: str) -> str:
        """An option of the agent; ``_of_names`` has those with names of Services."""
        option, _, text = argument.partition("=")
        if option == "--allow-cidr":
            return f"{option}={self._value('agent.allowCidr', text, '{{ %s }}')}"
        if option == "--health-from":
            return f"{option}={self._value('agent.healthFrom', text, '{{ %s }}')}"
        if option == "--publish":
            way, _, bootstrap = text.partition(":")
            return f"{option}={way}:{self._value('kafka.bootstrap', bootstrap, '{{ %s }}')}"
        return argument

    def _of_settings(self, name: str, data: dict[str, str]) -> None:
        names = {"SKH_KAFKA": "kafka.bootstrap", "SKH_KAFKA_OPTIONS": "kafka.options",
                 "SKH_CLICKHOUSE_URL": "clickhouse.url", "SKH_LOG_LEVEL": "logLevel"}  # fmt: skip
        for variable in [each for each in data if each in names]:
            data[variable] = self._value(names[variable], data[variable])

    def _of_policy(self, name: str, spec: Object) -> None:
        if name == "health":
            (peer,) = spec["ingress"][0]["from"]
            self._of_peer("monitoring", peer)
        elif name in ("kafka", "clickhouse"):
            (rule,) = spec["egress"]
            self._of_peer(name, rule["to"][0])
            (port,) = rule["ports"]
            port["port"] = self._value(f"{name}.port", port["port"], "{{ %s }}")

    def _of_peer(self, name: str, peer: Object) -> None:
        labels = peer["namespaceSelector"]["matchLabels"]
        key = "kubernetes.io/metadata.name"
        labels[key] = self._value(f"{name}.namespace", labels[key])

    def _of_names(self, each: Object) -> None:
        """Namespaces, names of objects outside of namespaces, addresses of Services, the Secret."""
        parts, agents = (
            self._mark(f"{{{{ .Values.namespaces.{n} }}}}") for n in ("parts", "agents")
        )
        found = {PARTS: parts, AGENTS: agents}
        if each["kind"] == "Namespace":
            each["metadata"]["name"] = found[each["metadata"]["name"]]
        for holder, key, value in _strings(each):
            if key == "namespace":
                holder[key] = found[value]
            elif key == "secretName":
                holder[key] = self._mark("{{ .Values.secret }}")
            elif f".{PARTS}.svc" in value:
                holder[key] = value.replace(f".{PARTS}.svc", f".{parts}.svc")
            elif value == f"{PARTS}-controller":
                holder[key] = f"{parts}-controller"

    def _value(self, path: str, default: object, form: str = "{{ %s | toJson }}") -> str:
        """An expression for a value; its default is noted. JSON is YAML on one line."""
        *holders, last = path.split(".")
        place = self.values
        for name in holders:
            place = place[name]
        if place.get(last, default) != default:
            raise ValueError(f"{path} has two defaults in the base: {place[last]}, {default}")
        place[last] = default
        return self._mark(form % f".Values.{path}")

    def _mark(self, expression: str) -> str:
        self._expressions.append(expression)
        return f"XX{len(self._expressions) - 1}XX"

    def _absent(self, field: str, path: str) -> str:
        return f"YY{field}{self._mark(f'.Values.{path}').replace('XX', 'YY', 1).removesuffix('XX')}"

    def _if_given(self, found: re.Match[str]) -> str:
        indent, field, number = found.groups()
        return (
            f"{indent}{{{{- with {self._expressions[int(number)]} }}}}\n"
            f"{indent}{field}: {{{{ toJson . }}}}\n{indent}{{{{- end }}}}"
        )


def files() -> dict[Path, str]:
    """Every file of the chart but its notes, with the text that it should have."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = Chart()
    names = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
    found = {CHART / "templates" / name: chart.template(name) for name in names}
    found[CHART / "templates" / "autoscalers.yaml"] = chart.autoscalers()
    about = {
        "apiVersion": "v2", "name": "skeletonhunter", "type": "application",
        "version": version, "appVersion": version,
        "description": "Names the broken component of the network of an LLM training cluster",
    }  # fmt: skip
    note = _NOTE.format(name="base/*")
    found[CHART / "Chart.yaml"] = note + yaml.safe_dump(about, sort_keys=False)
    explained = "# What each value does: docs/deploy.md. Defaults are what the base says.\n"
    values = yaml.safe_dump(chart.values, sort_keys=False, width=1 << 20)
    found[CHART / "values.yaml"] = note + explained + values
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **_schema(chart.values)}
    found[CHART / "values.schema.json"] = json.dumps(schema, indent=1) + "\n"
    return found


def _strings(value: Any) -> Iterator[tuple[Any, Any, str]]:
    """Each string of a document, with the dictionary or list that holds it, and where."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(items):
        if isinstance(each, str):
            yield value, key, each
        elif isinstance(each, dict | list):
            yield from _strings(each)


def _schema(value: object, name: str = "") -> dict[str, Any]:
    """Types as of the defaults; what the chart does not read is refused, except in what
    Kubernetes reads."""
    if isinstance(value, dict):
        # `global` is what Helm gives every chart.
        extra: dict[str, Any] = {} if name else {"global": {"type": "object"}}
        free = name in ("resources", "nodeSelector", "affinity")
        properties = {} if free else {k: _schema(v, k) for k, v in value.items()}
        return {"type": "object", "additionalProperties": free, "properties": properties | extra}
    names = {bool: "boolean", int: "integer", str: "string", list: "array"}
    return {"type": names[type(value)]}
