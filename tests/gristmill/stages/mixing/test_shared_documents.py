from pathlib import Path

import pytest
from testkit import SHELVES, SNAPSHOT, Mill, make_documents

from gristmill.errors import DataError
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, field
from gristmill.stages.mixing.index import write_mix_index
from gristmill.stages.mixing.step import stream_step

NUMBER = (field("metadata.number", "BIGINT"),)


def stream(name: str, where: str) -> Stream:
    rules = (Rule("chosen", where, "numbers that one can count by eye"),)
    return Stream(source="pages", version="v0", name=name, columns=NUMBER, include=rules)


def closed(root: Path, *streams: Stream) -> Mix:
    mill = Mill(root)
    mill.raw("a.jsonl.gz", make_documents(20))
    mill.raw("b.jsonl.gz", make_documents(20, start=20))
    mill.convert()
    mix = Mix(name="two", streams=streams)
    for each in streams:
        mill.make(stream_step(mix, each.key, SNAPSHOT, SHELVES))
    keys = [each.key for each in streams]
    write_mix_index(mill.store, mix, dict.fromkeys(keys, mill.source()), {key: [SNAPSHOT] for key in keys})
    return mix


def test_streams_that_exclude_each_other_are_closed(tmp_path: Path) -> None:
    assert closed(tmp_path, stream("low", "number < 25"), stream("high", "number >= 25"))


def test_streams_that_share_documents_are_refused_with_an_example(tmp_path: Path) -> None:
    words = r"'low' and 'high' share 2 documents of shard b\S* \(2024\), such as 'doc-00023' of pages"
    with pytest.raises(DataError, match=words):
        closed(tmp_path, stream("low", "number < 25"), stream("high", "number >= 23"))
    streams = stream("low", "number < 25"), stream("high", "number > 30"), stream("last", "number = 3")
    with pytest.raises(DataError, match="'low' and 'last' share 1 documents"):
        closed(tmp_path / "more", *streams)
