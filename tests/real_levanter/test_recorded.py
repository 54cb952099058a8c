"""A recorded answer holds for the very bytes that the peer was asked about, and for the peer's version."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from peer import Recorded


def shout(*jobs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A peer that reads a file."""
    return [{"said": (Path(job["cache"]) / "words").read_text().upper(), "of": job["cache"]} for job in jobs]


def recorded(folder: Path, words: str) -> Recorded:
    """A test's question about a folder with these words; where the folder is does not count."""
    (folder / "cache").mkdir(parents=True)
    (folder / "cache" / "words").write_text(words)
    (folder.parent / "pins").touch()
    return Recorded(folder.parent / "answers" / "test.json.gz", folder, folder.parent / "pins")


def test_an_answer_is_found_for_the_same_bytes_elsewhere_and_not_for_others(tmp_path: Path) -> None:
    first = recorded(tmp_path / "a", "hello")
    first.record(shout, {"cache": str(tmp_path / "a" / "cache")})
    job = {"cache": str(tmp_path / "b" / "cache")}
    second = recorded(tmp_path / "b", "hello")
    assert second(job) == [{"said": "HELLO", "of": job["cache"]}]
    assert second.compare(shout, job) == second(job)
    (tmp_path / "b" / "cache" / "words").write_text("hallo")
    with pytest.raises(AssertionError, match=r"no answer to .*: make record"):
        second(job)


def test_a_peer_that_answers_otherwise_is_noticed(tmp_path: Path) -> None:
    job = {"cache": str(tmp_path / "a" / "cache")}
    first = recorded(tmp_path / "a", "hello")
    first.record(shout, job)
    with pytest.raises(AssertionError, match=r"other answers than test\.json\.gz has"):
        first.compare(lambda *_: [{"said": "hello", "of": job["cache"]}], job)


def test_answers_of_another_version_are_not_used(tmp_path: Path) -> None:
    recorded(tmp_path / "a", "hello").record(shout, {"cache": str(tmp_path / "a" / "cache")})
    (tmp_path / "pins").write_text("peer==2")
    with pytest.raises(AssertionError, match=r"pins has changed since test\.json\.gz was recorded"):
        Recorded(tmp_path / "answers" / "test.json.gz", tmp_path / "a", tmp_path / "pins")
