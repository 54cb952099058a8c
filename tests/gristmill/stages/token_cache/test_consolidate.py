from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from talklake import BYTES, TEMPLATE, build, mix_of, row, rows_of, started, talk
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.errors import Conflict
from gristmill.formats.levanter.checksums import verify_checksums
from gristmill.lake.asset_kinds import CONSOLIDATED
from gristmill.lake.store.protocol import Entry
from gristmill.recipes.row_format import Chat, Format, Prebuilt
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep


@pytest.mark.slow
@pytest.mark.parametrize("declared", [Chat(chat_template=TEMPLATE), Prebuilt(loss_weights_key="loss_weights")])
def test_a_snapshot_with_no_rows_is_a_cache_with_none(tmp_path: Path, declared: Format) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")), row(1, talk("a", "b")))
    mill.raw("a.jsonl.gz", [])
    mill.raw("b.jsonl.gz", [])
    mill.convert()
    mix = mix_of(declared, parts=2)
    made = build(mill, mix)
    assert (made.totals["rows"], made.totals["tokens"]) == (0, 0)
    assert rows_of(mill) == []
    index_cache(mill.store, mix, BYTES, {"pages": mill.source()}, {"pages": [SNAPSHOT]}, consolidated=True)
    [copy] = [entry.path for entry in mill.store.list("token_caches/") if entry.path.endswith("sums.json")]
    assert verify_checksums(mill.store, copy.removesuffix("sums.json"))["total_num_rows"] == 0


def test_a_run_that_ends_late_leaves_the_copies_of_a_newer_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their folder has another name, and the index of the older run does not name it."""
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")), row(1, talk("a", "b")))
    mix = mix_of(Chat(chat_template=TEMPLATE), parts=2)

    def copied(store: Mill) -> None:
        index_cache(store.store, mix, BYTES, {"pages": store.source()}, {"pages": [SNAPSHOT]}, consolidated=True)

    def newer() -> None:
        mill.raw("a.jsonl.gz", [row(7, talk("new", "words"))])
        mill.convert()
        mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
        mill.make(TokenCacheStep(mix, "pages", BYTES, SNAPSHOT, SHELVES))
        copied(Mill(mill.root))

    build(mill, mix)
    top = CONSOLIDATED.at(mix=mix.name, tokenizer=BYTES.name)
    listed = mill.store.list

    def late(prefix: str, *rest: Any) -> Iterator[Entry]:
        if prefix == f"{top}/":
            monkeypatch.undo()
            newer()
        return listed(prefix, *rest)

    monkeypatch.setattr(mill.store, "list", late)
    with pytest.raises(Conflict, match="others began to use it"):
        copied(mill)
    copies = [e.path for e in mill.store.list(f"{top}/") if e.path.endswith("sums.json")]
    assert max(verify_checksums(mill.store, copy.removesuffix("sums.json"))["total_num_rows"] for copy in copies) == 2
