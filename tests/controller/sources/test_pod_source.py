"""List and watch against API servers that follow a script, or answer over HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from builders.controller.kubernetes_http import Cluster, serving
from builders.controller.pods import CREATED_MS, HOSTS, ScriptedApi, ScriptEnds, pod, raw_pod

from controller.sources.kubernetes import api_objects
from controller.sources.kubernetes.api import ClusterPods, Unusable
from controller.sources.kubernetes.api_objects import Change
from controller.sources.kubernetes.source import ApiError, Listing, PodSource, VersionExpired
from controller.sources.kubernetes.tracker import PodOptions, PodTracker
from controller.tasks.events import AnyEvent
from controller.tasks.tasks import Tasks

NOW_MS = CREATED_MS + 60_000


class Story:
    """A source that runs against a script until it ends; ``slept`` are its backoffs."""

    def __init__(self, *steps: Listing | Sequence[Change | Exception] | Exception) -> None:
        self.api = ScriptedApi(steps)
        self.tasks = Tasks()
        self.slept: list[float] = []
        self.now_ms = NOW_MS
        self.source = PodSource(
            self.api, PodTracker(lambda: HOSTS, PodOptions(fabric="f1")), self._apply,
            now_ms=lambda: self.now_ms, jitter=lambda: 1.0, sleep=self._sleep,
        )  # fmt: skip
        with pytest.raises(ExceptionGroup) as why:
            asyncio.run(self.source.run())
        assert why.group_contains(ScriptEnds)

    @property
    def states(self) -> dict[str, str]:
        return {
            node_id.partition("/")[2].partition(".")[0]: box.state
            for node_id, box in self.tasks.placements.items()
        }

    def metric(self, name: str) -> float:
        return sum(each.value for each in self.source.samples() if each.metric.name == name)

    async def _apply(self, events: Sequence[AnyEvent]) -> None:
        self.now_ms += 1
        for each in events:
            self.tasks.apply(each)

    async def _sleep(self, delay_s: float) -> None:
        if delay_s == 10.0:  # the look at what waits
            await asyncio.Event().wait()
        self.slept.append(delay_s)
        self.now_ms += round(1000 * delay_s)


def added(number: int) -> Change:
    return Change("ADDED", pod(number, number % 4), str(100 + number))


def test_a_watch_begins_where_the_list_ended_and_goes_on_where_it_was() -> None:
    story = Story(
        Listing([pod(0, 0)], "50"), [added(1), Change("BOOKMARK", version="70")], [added(2)]
    )
    assert story.api.asked == ["list", "50", "70", "102"]
    assert story.states == dict.fromkeys(("p0", "p1", "p2"), "starting")
    assert story.slept == []
    assert story.metric("skh_controller_pod_lists_total") == 1
    assert story.metric("skh_controller_watch_failures_total") == 0


@pytest.mark.parametrize(
    "expired", [Change("ERROR", code=410, message="too old"), VersionExpired("410 Gone")]
)
def test_a_forgotten_version_leads_to_a_list_and_what_it_lacks_is_gone(
    expired: Change | Exception,
) -> None:
    story = Story(
        Listing([pod(0, 0), pod(1, 1)], "50"), [added(2), expired],
        Listing([pod(1, 1), pod(3, 3)], "900"),
    )  # fmt: skip
    assert story.api.asked == ["list", "50", "list", "900"]
    assert story.states == {"p0": "gone", "p1": "starting", "p2": "gone", "p3": "starting"}
    assert story.metric("skh_controller_pod_lists_total") == 2


def test_a_lost_connection_is_begun_again_at_the_same_version_after_growing_pauses() -> None:
    story = Story(
        ApiError("refused"), ApiError("refused"), Listing([], "50"),
        ApiError("reset"), ApiError("reset"), [added(1), ApiError("reset")], [added(2)],
    )  # fmt: skip
    assert story.api.asked == ["list", "list", "list", "50", "50", "50", "101", "102"]
    assert story.slept == [1.0, 2.0, 0.5, 1.0, 0.5]
    assert story.metric("skh_controller_watch_failures_total") == 5
    assert story.states == {"p1": "starting", "p2": "starting"}


def test_pauses_are_bounded() -> None:
    story = Story(*[ApiError("refused")] * 20)
    assert story.slept == sorted(story.slept)
    assert max(story.slept) == 30.0


def test_a_server_that_ends_each_watch_at_once_is_not_asked_without_pause() -> None:
    story = Story(Listing([], "50"), [], [], [], [])
    assert len(story.slept) >= 3
    assert 0.0 not in story.slept


def test_the_age_of_the_watch_is_the_time_since_the_server_said_something() -> None:
    story = Story(Listing([], "50"), [added(1)])
    heard_ms = story.now_ms
    story.now_ms = heard_ms + 5000
    assert story.metric("skh_controller_watch_age_seconds") == pytest.approx(5.0, abs=0.1)


def test_the_official_client_reads_pages_and_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster()
    cluster.pages = [
        {"metadata": {"resourceVersion": "9", "continue": "more"}, "items": [raw_pod(1, 0)]},
        {"metadata": {"resourceVersion": "9"}, "items": [raw_pod(2, 1)]},
    ]
    cluster.lines = [
        {"type": "MODIFIED", "object": raw_pod(1, 0)},
        {
            "type": "BOOKMARK",
            "object": {
                "kind": "Pod",
                "metadata": {"resourceVersion": "77", "creationTimestamp": None},
                "spec": {"containers": None},
                "status": {},
            },
        },
        {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}},
    ]

    async def read(api: ClusterPods) -> tuple[Listing, list[Change]]:
        return await api.list(), [each async for each in api.watch("9")]

    with serving(cluster, tmp_path) as config:
        monkeypatch.setenv("KUBECONFIG", str(config))
        listing, changes = asyncio.run(read(ClusterPods("train", "team=a")))
    assert [each.name for each in listing.pods] == ["train/p1", "train/p2"]
    assert listing.version == "9"
    assert [each.kind for each in changes] == ["MODIFIED", "BOOKMARK", "ERROR"]
    assert [each.version for each in changes] == ["101", "77", ""]
    paths, queries = zip(*cluster.asked, strict=True)
    assert set(paths) == {"/api/v1/namespaces/train/pods"}
    assert [each.get("continue") for each in queries] == [None, "more", None]
    assert {each["labelSelector"] for each in queries} == {"team=a"}
    assert queries[2]["allowWatchBookmarks"] in ("true", "True")
    assert queries[2]["resourceVersion"] == "9"


@pytest.mark.parametrize(("status", "says"), [(403, "apply k8s/"), (410, "forgotten"), (500, "5")])
def test_a_refusal_is_one_line_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, says: str
) -> None:
    cluster = Cluster()
    cluster.status = status
    with serving(cluster, tmp_path) as config:
        monkeypatch.setenv("KUBECONFIG", str(config))
        with pytest.raises(ApiError, match=says) as why:
            asyncio.run(ClusterPods("*").list())
    assert "\n" not in str(why.value)
    assert isinstance(why.value, VersionExpired) == (status == 410)
    assert cluster.asked[0][0] == "/api/v1/pods"


def test_without_a_cluster_the_source_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(Unusable, match="set KUBECONFIG") as why:
        ClusterPods("*")
    assert "\n" not in str(why.value)


def test_without_the_client_the_source_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(Unusable, match=r"pip install 'skeletonhunter\[kubernetes\]'"):
        ClusterPods("*")


def test_a_line_that_is_no_change_is_an_error_of_the_server() -> None:
    with pytest.raises(ValueError, match="JSON"):
        api_objects.change(b"<html>")
