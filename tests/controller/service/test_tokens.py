"""Tokens of agents and operators: only hashes are stored, and each opens its own only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from controller.service.tokens import (
    TokenError,
    TokenFile,
    agent_line,
    load,
    new_token,
    operator_line,
    parse,
)


def test_a_token_opens_its_own_host_in_its_own_fabric() -> None:
    lines = [agent_line(("f1", "h1"), "a"), agent_line(("f2", "h1"), "b")]
    tokens = parse("".join([*lines, operator_line("root", "c")]))
    assert tokens.agent("h1", "a") == ("f1", "h1")
    assert tokens.agent("h1", "b") == ("f2", "h1")
    assert tokens.agent("h2", "a") is None
    assert tokens.agent("h1", "c") is None
    assert tokens.operator("c") == "root"
    assert tokens.operator("a") is None


def test_two_tokens_of_a_name_are_both_valid() -> None:
    tokens = parse(operator_line("root", "old") + operator_line("root", "new"))
    assert tokens.operator("old") == tokens.operator("new") == "root"


def test_a_line_does_not_hold_the_token() -> None:
    token = new_token()
    assert token not in agent_line(("f1", "h1"), token)
    assert new_token() != token


@pytest.mark.parametrize(
    "line",
    ["agent f1 h1", "operator root abc", "agent f1 h1 " + "x" * 64, "host f1 h1 " + "0" * 64],
)
def test_a_line_that_is_none_is_named_and_not_quoted(line: str) -> None:
    with pytest.raises(TokenError, match=r"file, line 2: ") as why:
        parse(f"# comment\n{line}\n", "file")
    assert line not in str(why.value)


@pytest.mark.parametrize("name", ["", "a b", " a"])
def test_a_name_with_a_space_has_no_line(name: str) -> None:
    with pytest.raises(TokenError, match="name"):
        operator_line(name, "t")


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(operator_line("root", "t"))
    path.chmod(0o644)
    with pytest.raises(TokenError, match="chmod 600"):
        load(path)


def test_a_file_that_has_changed_counts_at_once_and_a_broken_one_not(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.touch(mode=0o600)
    file = TokenFile(path)
    assert file().operator("t") is None
    path.write_text(operator_line("root", "t"))
    assert file().operator("t") == "root"
    path.write_text("nonsense\n")
    os.utime(path, (1, 1))
    assert file().operator("t") == "root"


def test_a_file_holds_the_tokens_of_a_large_cluster(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.touch(0o600)
    path.write_text("".join(agent_line(("f1", f"h{number}"), "t") for number in range(16_384)))
    assert load(path).agent("h16383", "t") == ("f1", "h16383")
