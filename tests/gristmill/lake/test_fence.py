"""A fence: what a process that sleeps before a write may no longer do when it wakes."""

from pathlib import Path

import pytest
from steered import before

from gristmill.errors import Conflict, Superseded
from gristmill.lake.fence import fence_writes
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Store

CLAIM = "claim"


def has(store: Store, token: bytes) -> None:
    """The question of these tests: whether the claim is still ours."""
    if store.read(CLAIM) != token:
        raise Superseded("taken over")


def test_nothing_is_written_after_the_answer_no(store: Store) -> None:
    store.put(CLAIM, b"ours")
    upload = store.upload("large")
    upload.write(b"rows")
    with fence_writes(lambda: has(store, b"ours")):
        store.put("a", b"1")
        store.put(CLAIM, b"theirs")
        with pytest.raises(Superseded):
            store.put("a", b"2")
        with pytest.raises(Superseded):
            store.put_if("b", b"2", None)
        with pytest.raises(Superseded):
            upload.close()
    upload.abort()
    assert {entry.path: store.read(entry.path) for entry in store.list("")} == {"a": b"1", CLAIM: b"theirs"}
    store.put("a", b"3")
    assert store.read("a") == b"3"


def test_nothing_is_removed_after_the_answer_no(store: Store) -> None:
    store.put("a", b"1")
    with pytest.raises(Conflict, match="others began to use it"):
        store.delete(["a"], lambda: False)
    assert store.read("a") == b"1"
    store.delete(["a"], lambda: True)
    assert store.head("a") is None


def test_a_folder_asks_under_the_lock_that_a_claim_needs(tmp_path: Path) -> None:
    """A process that sleeps right before its write holds the lock, or is asked when it wakes."""
    store, others = FolderStore(str(tmp_path)), FolderStore(str(tmp_path))
    store.put(CLAIM, b"ours")
    before(store, "hold_unchanged", "a", lambda: others.put(CLAIM, b"theirs"))
    with fence_writes(lambda: has(store, b"ours")), pytest.raises(Superseded):
        store.put("a", b"1")
    assert store.head("a") is None


def test_a_block_within_a_block_asks_both_questions(store: Store) -> None:
    store.put(CLAIM, b"theirs")
    asked: list[str] = []
    with (
        fence_writes(lambda: has(store, b"ours")),
        fence_writes(lambda: asked.append("inner")),
        pytest.raises(Superseded),
    ):
        store.put("a", b"1")
    store.put(CLAIM, b"ours")
    with fence_writes(lambda: has(store, b"ours")), fence_writes(lambda: asked.append("inner")):
        store.put("a", b"1")
    assert asked == ["inner"]
