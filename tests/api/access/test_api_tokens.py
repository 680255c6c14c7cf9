"""The file of the API's tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.access.callers import Caller
from api.access.tokens import TokenError, TokenFile, line, new_token, parse

ALICE = Caller("alice", "operator")


def test_a_token_is_its_callers_with_role_and_tenants() -> None:
    first, second = new_token(), new_token()
    scoped = Caller("bob", "viewer", ("blue", "red"))
    tokens = parse("# people\n\n" + line(ALICE, first) + line(scoped, second))
    assert tokens.caller(first) == ALICE
    assert tokens.caller(second) == scoped
    assert tokens.caller("skh_guess") is None


def test_the_file_holds_no_token() -> None:
    token = new_token()
    assert token not in line(ALICE, token)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("alice operator 00", "line 1"),
        ("\nowner alice " + "0" * 64, "line 2"),
        ("viewer alice 1234", "64 hex digits"),
        ("viewer alice " + "z" * 64, "64 hex digits"),
        ("viewer alice", "ROLE NAME SHA256"),
    ],
)
def test_a_line_that_is_none_is_named_and_not_quoted(text: str, word: str) -> None:
    with pytest.raises(TokenError, match=word) as caught:
        parse(text)
    assert "z" * 64 not in str(caught.value)


def test_a_name_with_a_space_has_no_line() -> None:
    with pytest.raises(TokenError, match="space"):
        line(Caller("alice b", "viewer"), "t")


def test_a_changed_file_counts_at_once_and_a_broken_one_does_not(tmp_path: Path) -> None:
    file, token, later = tmp_path / "tokens", new_token(), new_token()
    file.touch(mode=0o600)
    file.write_text(line(ALICE, token))
    tokens = TokenFile(file)
    file.write_text(line(ALICE, token) + line(Caller("bob", "viewer"), later))
    assert tokens().caller(later) == Caller("bob", "viewer")
    file.write_text("nonsense")
    assert tokens().caller(later) == Caller("bob", "viewer")


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.touch(mode=0o644)
    with pytest.raises(TokenError, match="chmod 600"):
        TokenFile(file)
