"""Damage that a second reading meets: it is a finding, and hides neither other findings nor other ledgers."""

import gzip
import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hostlake import mix_of, start
from testkit import Mill, packed
from wholelake import CACHE, STREAM, reseal_shard, rewrite

from gristmill.__main__ import main
from gristmill.errors import RecipeError, StoreError
from gristmill.execution.finding import Finding, guard_proof
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.verification.audit import audit_reencoding
from gristmill.verification.reencoding import reencoding_findings


def replace(mill: Mill, path: str) -> None:
    """Another object of the same rows: what a ledger's sha256 tells apart, and nothing else."""
    mill.store.put(path, gzip.compress(gzip.decompress(mill.store.read(path)), 1, mtime=1))


def test_a_replaced_shard_of_a_mix_with_a_validation_key_hides_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mill = start(tmp_path / "lake", mix_of())
    for name in "ab":
        replace(mill, mill.stream().shard(name))
    mill.store.put(mill.stream().folders[0] + "stray", b"")
    assert main(["verify", str(mill.root), "--all", "--shelves", "testshelf"]) == 1
    said = capsys.readouterr().out
    for name in "ab":
        assert f"{mill.stream().shard(name)}: its sha256 is" in said
    assert said.count("not proven to its end") == 2
    assert "stray: no ledger names this object" in said
    assert said.splitlines()[-1].startswith("2 of 3 ledgers proven")


def lose(mill: Mill, path: str) -> None:
    mill.store.delete([path])


def cut(mill: Mill, path: str) -> None:
    mill.store.put(path, packed([])[:4])


@pytest.mark.parametrize("damage", [replace, lose, cut])
def test_tokens_are_encoded_again_beside_damaged_documents(whole: Mill, damage: Callable[[Mill, str], None]) -> None:
    damage(whole, STREAM.shard("a"))
    [finding] = audit_reencoding(whole.store, CACHE.ledger, ShardSample(1), whole.said.append, set())
    assert finding.path == CACHE.ledger
    assert STREAM.shard("a") in finding.what
    assert whole.said[-1].endswith("4 documents encoded again")


def test_a_lake_that_does_not_answer_is_no_finding(whole: Mill) -> None:
    shutil.rmtree(whole.root)
    again = reencoding_findings(whole.store, CACHE, ShardSample(1), whole.said.append, set())
    with pytest.raises(StoreError):
        list(guard_proof(whole.store, CACHE.ledger, again))


def test_a_resealed_shard_of_fewer_rows_than_its_index_hides_nothing(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    index = whole.store.read(STREAM.index("a"))
    rewrite(whole, STREAM, "a", whole.lines(STREAM.shard("a"))[1:])
    whole.store.put(STREAM.index("a"), index)
    reseal_shard(whole, STREAM, "a", index=hashlib.sha256(index).hexdigest(), ids="0")
    whole.store.delete([STREAM.shard("b")])
    assert main(["verify", str(whole.root), "--all"]) == 1
    said = capsys.readouterr().out
    assert f"{STREAM.index('a')}: it is not the index of the ids in {STREAM.shard('a')}" in said
    assert f"{STREAM.shard('b')}: there is no such object" in said
    assert said.splitlines()[-1].startswith("6 of 8 ledgers proven, ")


def test_whatever_one_proof_raises_is_its_finding_alone(whole: Mill) -> None:
    def proof(error: BaseException) -> Iterator[Finding]:
        yield Finding("a", None, "before")
        raise error

    for error in (IndexError("5 is out of bounds"), RecursionError(), SystemExit(1)):
        before, last = guard_proof(whole.store, "a", proof(error))
        assert before.what == "before"
        assert last.what.startswith(f"not proven to its end: {type(error).__name__}")
        assert "damage, or a bug" in last.what
    _, last = guard_proof(whole.store, "a", proof(RecipeError("b: no such rule")))
    assert last.what == "not proven to its end: b: no such rule"
    with pytest.raises(KeyboardInterrupt):
        list(guard_proof(whole.store, "a", proof(KeyboardInterrupt())))
    left = guard_proof(whole.store, "a", proof(ValueError()))
    assert next(left).what == "before"
    left.close()  # type: ignore[attr-defined]  # whoever wants one finding leaves the others
