"""Topics: a table whose ends exist."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from schemas import topics
from schemas.topics import Topic

OUTSIDE = {topics.OPERATORS, topics.SUBSCRIBERS}


@pytest.mark.parametrize("topic", topics.ALL, ids=lambda topic: topic.name)
def test_the_producer_and_consumers_of_a_topic_are_modules_that_exist(topic: Topic) -> None:
    modules = {topic.producer, *topic.consumers} - OUTSIDE
    missing = [module for module in sorted(modules) if find_spec(module) is None]
    assert missing == []


def test_every_topic_has_its_own_name() -> None:
    names = [topic.name for topic in topics.ALL]
    assert len(set(names)) == len(names)
    assert all(name.startswith("skh.") for name in names)
