import re
from dataclasses import replace
from pathlib import Path

import pytest
from previewed import KINDS, make_previewed, mix_of, random_stream
from testkit import SHELVES, SNAPSHOT, Mill, link

from gristmill.errors import DataError
from gristmill.previews.slice_preview import KEPT, SlicePreview
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, field
from gristmill.stages.mixing.step import stream_step


@pytest.fixture(scope="module")
def previewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_previewed(tmp_path_factory.mktemp("previewed") / "lake").root


@pytest.fixture
def mill(previewed: Path, tmp_path: Path) -> Mill:
    return Mill(link(previewed, tmp_path / "lake"))


def preview_of(mill: Mill, stream: Stream) -> SlicePreview:
    return SlicePreview(mill.store, stream_step(mix_of(stream), "pages", SNAPSHOT, SHELVES), KINDS)


def check_equal_to_build(mill: Mill, stream: Stream) -> None:
    """The preview counts what the build then makes: rows, bytes, characters, reasons; the rows are the same."""
    preview = preview_of(mill, stream)
    tally = preview.tally_rows(100)
    ledger = mill.make(stream_step(mix_of(stream), "pages", SNAPSHOT, SHELVES))
    built = [row for shard in "abc" for row in mill.rows(mill.stream().shard(shard))]
    assert tally.kept == (ledger.totals["rows"], ledger.totals["length"], sum(len(row["text"]) for row in built))
    assert {reason: amount.documents for reason, amount in tally.dropped.items()} == ledger.dropped
    every = {shard: mill.rows(mill.documents().shard(shard)) for shard in "abc"}
    kept = [every[each.shard][each.row]["id"] for each in tally.examples.get(KEPT, ())]
    assert sorted(kept) == [row["id"] for row in built]


@pytest.mark.parametrize("seed", range(5))
def test_a_preview_is_what_the_build_then_makes(mill: Mill, seed: int) -> None:
    check_equal_to_build(mill, random_stream(seed, text=seed == 3, edits=seed == 4))


def test_a_stream_without_columns_keeps_all(mill: Mill) -> None:
    check_equal_to_build(mill, Stream(source="pages", version="v0"))


def test_rows_that_lose_fields_have_their_new_size(mill: Mill) -> None:
    check_equal_to_build(mill, replace(random_stream(0), keep=("metadata.number",), merge=("words-1",)))


def test_a_rule_that_fails_names_the_row_that_the_build_names(mill: Mill) -> None:
    """For 20 of 60 rows the number is 0 only once in each shard, and not in its first row."""
    number = field("metadata.number", "BIGINT")
    sums = Stream(source="pages", version="v0", columns=(number,), exclude=(Rule("odd", "7 % (number - 5) = 1", "x"),))
    with pytest.raises(DataError) as told:
        preview_of(mill, sums).tally_rows(0)
    row = next(
        row for row, each in enumerate(mill.rows(mill.documents().shard("a"))) if each["metadata"]["number"] == 5
    )
    words = f"a.jsonl.gz: row {row}: rule 'odd': Invalid Input Error: Division by zero"
    assert words in str(told.value)
    assert str(told.value).endswith("(divide by nullif(..., 0))")
    with pytest.raises(DataError, match=re.escape(words)):
        mill.make(stream_step(mix_of(sums), "pages", SNAPSHOT, SHELVES))


def test_a_key_that_holds_documents_out_must_be_there_as_in_the_build(mill: Mill) -> None:
    mix = Mix(
        name="blend", streams=(random_stream(0),), validation=0.1, validation_key=field("metadata.host"), draft=True
    )
    step = stream_step(mix, "pages", SNAPSHOT, SHELVES)
    with pytest.raises(DataError, match=r"none of its 20 rows has metadata\.host"):
        SlicePreview(mill.store, step, KINDS).tally_rows(0)


@pytest.mark.slow
def test_fifty_random_previews_are_what_their_builds_make(mill: Mill) -> None:
    for seed in range(5, 50):
        check_equal_to_build(mill, random_stream(seed, text=seed % 7 == 0, edits=seed % 5 == 0))
