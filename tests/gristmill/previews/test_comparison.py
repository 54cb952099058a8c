from typing import Any

import pytest
from previewed import COLUMNS, KINDS, make_previewed, mix_of
from streams import rule
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.previews.comparison import StreamDifference, compare_mixes
from gristmill.previews.mix_preview import OpenedStream, open_stream
from gristmill.previews.token_ratio import TokenRatio
from gristmill.recipes.mix import Stream
from gristmill.stages.mixing.step import stream_step


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    return make_previewed(tmp_path_factory.mktemp("compared") / "lake")


def numbers(low: int, high: int, name: str = "", **changes: Any) -> Stream:
    where = f"number >= {low} AND number < {high}"
    return Stream(source="pages", version="v0", name=name, columns=COLUMNS, include=rule(where), **changes)


def opened(mill: Mill, *streams: Stream) -> list[OpenedStream]:
    mix = mix_of(*streams)
    steps = [stream_step(mix, stream.key, SNAPSHOT, SHELVES) for stream in streams]
    return [open_stream(mill.store, [step], KINDS, TokenRatio(), keyed=True) for step in steps]


def counts(differences: list[StreamDifference]) -> list[tuple[int, int]]:
    return [(each.alone.documents, each.kept.documents) for each in differences]


def test_each_side_tells_what_only_it_keeps(mill: Mill) -> None:
    ours, others = compare_mixes(mill.store, opened(mill, numbers(0, 30)), opened(mill, numbers(20, 50)), 2)
    assert (counts(ours), counts(others)) == ([(20, 30)], [(20, 30)])
    rows = mill.rows(mill.documents().shard("a"))
    assert ours[0].alone.characters == sum(len(row["text"]) for row in rows)
    assert [len(each.rows) for each in (*ours, *others)] == [2, 2]
    assert all(row.id < "doc-00020" for row in ours[0].rows)


def test_a_document_may_be_in_any_stream_of_the_other_mix(mill: Mill) -> None:
    whole = opened(mill, numbers(0, 60))
    halves = opened(mill, numbers(0, 25, "low"), numbers(25, 55, "high"))
    ours, others = compare_mixes(mill.store, whole, halves, 0)
    assert (counts(ours), counts(others)) == ([(5, 60)], [(0, 25), (0, 30)])


def test_edits_and_blocklists_do_not_make_another_document(mill: Mill) -> None:
    plain, listed = opened(mill, numbers(0, 60)), opened(mill, numbers(0, 60, blocklists=("gone",)))
    ours, others = compare_mixes(mill.store, plain, listed, 60)
    assert (counts(ours), counts(others)) == ([(6, 60)], [(0, 54)])
    assert ours[0].rows == ()  # a blocklist names them


def test_a_source_that_only_one_mix_has_is_only_there(mill: Mill) -> None:
    assert compare_mixes(mill.store, opened(mill, numbers(0, 10)), [], 0)[0][0].alone.documents == 10
