"""Forged lakes: ledgers that tell a lie consistently, which only deriving the shards again finds."""

import json
from collections.abc import Callable

import pytest
from labelrows import write_rows
from lies import audit
from testkit import SHELVES, Mill
from wholelake import DOCUMENTS, REVISED, STREAM, WORDS, even, make_cache, reseal_shard, rewrite

from gristmill.__main__ import main
from gristmill.derivation.partitions import Derivation
from gristmill.execution.finding import Finding
from gristmill.execution.step import Step
from gristmill.installation import code_version
from gristmill.lake.address import Place
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.stages.mixing.step import revision_step, stream_step

VERIFY = ("--shelves", "gristmill,testshelf", "--all")


def derived(mill: Mill, step: Step, share: float = 1) -> tuple[list[Finding], Derivation]:
    """What deriving the shards of a step finds."""
    derivation = Derivation(mill.lake, step, ShardSample(share), mill.said.append)
    return list(derivation.derivation_findings()), derivation


def text_changed(mill: Mill, where: Place, shard: str, row: int) -> None:
    """Changes a word of a document, and seals the ledger again."""
    rows = mill.lines(where.shard(shard))
    rows[row] = rows[row].replace(b"word", b"ward", 1)
    rewrite(mill, where, shard, rows)


def made_again(mill: Mill, *, tagged: bool = True) -> None:
    """Makes all that follows from documents, as `make` does after a change: the lie goes into tokens."""
    if tagged:
        mill.tag("words-1", "characters-1")
    mill.revise()
    mill.make(stream_step(even(), "pages", "2024", SHELVES))
    make_cache(mill)


def word_of_v0(mill: Mill) -> None:
    text_changed(mill, DOCUMENTS, "b", 4)
    made_again(mill)


def labels_of_a_leaf(mill: Mill) -> None:
    rows = mill.lines(WORDS.shard("a"))
    rows[7] = rows[7].replace(b"3.0]", b"9.0]", 1)
    write_rows(mill, WORDS, "a", rows)
    made_again(mill, tagged=False)


def drop_counts(mill: Mill) -> None:
    moved = {"english": 9, "short": 3}
    was = mill.table(REVISED)["a"].dropped
    assert sum(moved.values()) == sum(was.values())
    assert moved != was
    reseal_shard(mill, REVISED, "a", dropped=moved)


def row_of_a_mix(mill: Mill) -> None:
    rows = {json.loads(row)["id"]: row for row in mill.lines(REVISED.shard("b"))}
    rewrite(mill, STREAM, "b", [rows[f"doc-000{n}"] for n in (24, 26, 32, 36)])
    make_cache(mill)


FORGED: dict[str, tuple[Callable[[Mill], None], str, Callable[[Mill], Step], str, int | None, str]] = {
    "a word of v0": (
        word_of_v0,
        "--reconvert",
        lambda mill: mill.conversion(),
        DOCUMENTS.shard("b"),
        4,
        "id 'doc-00024': its text differs from code point 1 on",
    ),
    "a label of a leaf set": (
        labels_of_a_leaf,
        "--retag",
        lambda mill: mill.tagging("words-1"),
        WORDS.shard("a"),
        7,
        "id 'doc-00007': its attributes.words-1__count differs",
    ),
    "counts of dropped rows": (
        drop_counts,
        "--remix",
        lambda mill: revision_step(mill.source(), "v1", "2024", SHELVES),
        REVISED.table,
        None,
        "shard a: dropped is {'english': 9, 'short': 3}, but made again",
    ),
    "a row of a mix": (
        row_of_a_mix,
        "--remix",
        lambda _: stream_step(even(), "pages", "2024", SHELVES),
        STREAM.shard("b"),
        1,
        "id 'doc-00026' is here, but made again there is id 'doc-00028'",
    ),
}
"""Who forges; the option and the step that find it; path, row and words of the finding."""


@pytest.mark.parametrize("name", FORGED)
def test_what_the_ledgers_forge_is_proven_by_them_and_found_by_deriving_it_again(whole: Mill, name: str) -> None:
    forge, _, step, path, row, words = FORGED[name]
    assert derived(whole, step(whole))[0] == []
    forge(whole)
    assert audit(whole)[0] == []
    [finding, *_] = derived(whole, step(whole))[0]
    assert (finding.path, finding.row) == (path, row)
    assert finding.what.startswith(words)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGED)
def test_verify_finds_it_with_the_option_and_without_it_not(
    whole: Mill, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    forge, option, _, path, row, words = FORGED[name]
    forge(whole)
    others = {"--reconvert", "--retag", "--remix"} - {option}
    assert main(["verify", str(whole.root), *VERIFY, *(word for each in others for word in (each, "1"))]) == 0
    assert main(["verify", str(whole.root), *VERIFY, option, "1"]) == 1
    where = path if row is None else f"{path}: row {row}"
    assert f"       {where}: {words}" in capsys.readouterr().out


def test_a_raw_object_with_another_stamp_is_read_and_converted(whole: Mill) -> None:
    """A run would read it, and keep the shard, for its bytes are the recorded ones: a copied lake has new stamps."""
    for name in ("a", "b"):
        path = whole.root / f"sources/pages/raw/2024/{name}.jsonl.gz"
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)
    text_changed(whole, DOCUMENTS, "b", 4)
    [finding, *_] = derived(whole, whole.conversion())[0]
    assert (finding.path, finding.row) == (DOCUMENTS.shard("b"), 4)


@pytest.mark.parametrize("made_by", ["gristmill 0.1.0", "", None])
def test_a_finding_names_the_other_gristmill_that_made_the_partition(whole: Mill, made_by: str | None) -> None:
    text_changed(whole, DOCUMENTS, "b", 4)
    plain = derived(whole, whole.conversion())[0][0]
    assert "gristmill" not in plain.what
    note = json.loads(whole.store.read(DOCUMENTS.run))
    whole.store.put(DOCUMENTS.run, json.dumps({**note, "about": {"commit": made_by}}).encode())
    finding = derived(whole, whole.conversion())[0][0]
    other = f"; its run's note names {made_by}, and this is {code_version()}, which may make other rows"
    assert finding.what == plain.what + (other if made_by else "")
