from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.secret_files import MAX_BYTES, SecretFileError, read_secret

SECRET = b"correct horse battery\n"


def _file(directory: Path, mode: int, content: bytes = SECRET) -> Path:
    path = directory / "probe.key"
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
def test_a_file_of_its_owner_alone_is_read_whole(tmp_path: Path, mode: int) -> None:
    assert read_secret(_file(tmp_path, mode)) == SECRET


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o602, 0o610, 0o666])
def test_a_file_open_to_group_or_others_is_refused_with_the_remedy(
    tmp_path: Path, mode: int
) -> None:
    path = _file(tmp_path, mode)
    with pytest.raises(SecretFileError) as caught:
        read_secret(path)
    said = str(caught.value)
    assert f"mode {mode:04o}" in said
    assert said.endswith(f"run: chmod 600 {path}")
    assert "\n" not in said
    assert "horse" not in said, "no error shows a secret"


def test_the_mode_of_a_link_s_target_counts(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(_file(tmp_path, 0o644))
    with pytest.raises(SecretFileError, match="chmod 600"):
        read_secret(link)


def test_a_missing_file_a_directory_and_a_long_file_are_refused(tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path / "absent", "No such file or directory; give a readable file"),
        (tmp_path, "Is a directory"),
        (_file(tmp_path, 0o600, b"x" * (MAX_BYTES + 1)), "longer than 65536 B"),
    ):
        with pytest.raises(SecretFileError, match=reason):
            read_secret(path)


def test_a_pipe_of_the_shell_is_read(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, SECRET)
    os.close(writer)
    try:
        assert read_secret(f"/dev/fd/{reader}") == SECRET
    finally:
        os.close(reader)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files to others")
@pytest.mark.parametrize(
    ("owner", "group", "mode", "accepted"),
    [
        (0, 10001, 0o440, True),  # as Kubernetes mounts a secret for a pod with that fsGroup
        (0, 10001, 0o640, True),
        (0, 10001, 0o660, False),
        (0, 10001, 0o444, False),
        (0, 10002, 0o440, False),
        (10003, 10001, 0o440, False),
        (10001, 10001, 0o440, False),
    ],
)
def test_a_secret_that_is_mounted_for_a_pods_group_is_read(
    owner: int, group: int, mode: int, accepted: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:  # every user may go through it
        Path(folder).chmod(0o755)
        path = _file(Path(folder), mode)
        os.chown(path, owner, group)
        with another_user(10001, 10001):
            if accepted:
                assert read_secret(path) == SECRET
            else:
                with pytest.raises(SecretFileError):
                    read_secret(path)


@contextlib.contextmanager
def another_user(user: int, group: int) -> Iterator[None]:
    """This process is of another user, and of one group, meanwhile."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(group)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)
