"""Credentials that a checkout left in its git configuration are found, in every ordinary layout."""

import subprocess
from pathlib import Path

import pytest

from gate.errors import BrokenEnvironmentError
from gate.pipeline.run import refuse_persisted_credentials


def repository(path: Path, key: str, value: str) -> None:
    subprocess.run(["git", "init", "--quiet", str(path)], check=True)
    if key:
        subprocess.run(["git", "-C", str(path), "config", key, value], check=True)


@pytest.mark.parametrize("place", [".", "app", "a/b/c"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("http.https://github.com/.extraheader", "AUTHORIZATION: basic x"),
        ("remote.origin.url", "https://x-access-token:t@github.com/o/r"),
        ("url.https://t@github.com/.insteadOf", "https://github.com/"),
        ("core.sshCommand", "ssh -i key"),
    ],
    ids=["header", "token in the URL", "insteadOf", "ssh key"],
)
def test_credentials__are_refused(tmp_path: Path, place: str, key: str, value: str) -> None:
    repository(tmp_path / place, key, value)
    with pytest.raises(BrokenEnvironmentError, match="persist-credentials: false"):
        refuse_persisted_credentials(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [("", ""), ("remote.origin.url", "https://github.com/o/r"), ("remote.origin.url", "git@github.com:o/r")],
    ids=["none", "https", "ssh"],
)
def test_credentials__a_clean_checkout_passes(tmp_path: Path, key: str, value: str) -> None:
    repository(tmp_path, key, value)
    refuse_persisted_credentials(tmp_path)


def test_credentials__outside_a_repository_there_are_none(tmp_path: Path) -> None:
    refuse_persisted_credentials(tmp_path)
