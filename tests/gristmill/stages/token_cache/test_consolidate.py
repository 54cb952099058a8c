from pathlib import Path

import pytest
from talklake import BYTES, TEMPLATE, build, mix_of, row, rows_of, started, talk
from testkit import SNAPSHOT

from gristmill.formats.levanter.checksums import verify_checksums
from gristmill.recipes.row_format import Chat, Format, Prebuilt
from gristmill.stages.cache_index.index import index_cache


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
