"""Component ids of any names."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas.component_ids import KINDS, component, kind_of, link, link_ends, name_of

NAMES = st.text() | st.sampled_from(["", "|", "%", "%00", "%7C", "%25", "%257C", "a|b", ":", "a:b"])


@given(st.sampled_from(KINDS), NAMES)
def test_every_text_is_a_name_and_never_splits_a_link(kind: str, name: str) -> None:
    made = component(kind, name)
    assert kind_of(made) == kind
    assert "|" not in made
    other = component("tor", "t1")
    assert set(link_ends(link(made, other))) == {made, other}


@given(NAMES)
def test_the_name_in_an_id_is_read_as_it_was(name: str) -> None:
    assert name_of(component("tor", name)) == name


@given(NAMES, NAMES)
@example("%7C", "|")
@example("%257C", "%7C")
@example("", "%00")
def test_different_names_stay_different(a: str, b: str) -> None:
    assert (component("host", a) == component("host", b)) == (a == b)


@pytest.mark.parametrize("name", ["h1", "10.0.0.1", "fe80::1%eth0", "Zürich", "a:b", "100%"])
def test_a_plain_name_stands_unchanged(name: str) -> None:
    assert component("host", name) == f"host:{name}"


def test_a_kind_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="kind is one of"):
        component("router", "r1")
