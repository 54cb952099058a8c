import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from talklake import TEMPLATE, build, mix_of, row, started, talk
from testkit import SNAPSHOT, Mill
from wholelake import reseal_shard, rewrite

from gristmill.execution.finding import Finding
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.lake.rows.bitmap import pack_bits
from gristmill.recipes.row_format import Chat
from gristmill.stages.token_cache.part import PartRecord
from gristmill.verification.audit import audit_reencoding

ALL = ShardSample(1)


HERE = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
DOCUMENTS = place("mixes/talk/documents/pages", SNAPSHOT)


@pytest.fixture
def talks(tmp_path: Path) -> Mill:
    """Two shards of ten conversations in two splits; the first and the sixth of each shard have no answer."""
    mill = started(tmp_path / "lake", *[row(n, talk(f"Hi {n}", "x" * (n % 5))) for n in range(20)])
    build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop"), parts=2, validation=0.3))
    return mill


def found(mill: Mill, sample: ShardSample = ALL) -> tuple[list[Finding], set[str]]:
    encoded = set[str]()
    return audit_reencoding(mill.store, HERE.ledger, sample, mill.said.append, encoded), encoded


def facts_of(mill: Mill) -> dict[str, Any]:
    """The statistics of shard a, as the ledger has them."""
    shards = {name: each for part in mill.table(HERE).values() for name, each in part.extra["shards"].items()}
    return dict(shards["a"]["facts"])


def forged(mill: Mill, **changes: Any) -> None:
    """Changes what the ledger says of shard a, consistently."""
    part = next(part for part in mill.table(HERE).values() if "a" in part.extra["shards"])
    shards = part.extra["shards"]
    reseal_shard(mill, HERE, part.name, extra={**part.extra, "shards": {**shards, "a": {**shards["a"], **changes}}})


def test_a_sample_is_encoded_again_by_the_reference(talks: Mill) -> None:
    assert found(talks) == ([], {"a", "b"})
    assert talks.said[-1].endswith("20 documents encoded again")
    half = next(
        s
        for s in map(partial(ShardSample, 0.5), range(99))
        if s.contains_shard(SNAPSHOT, "a") > s.contains_shard(SNAPSHOT, "b")
    )
    assert found(talks, half) == ([], {"a"})
    assert talks.said[-1].endswith("10 documents encoded again")


def test_documents_without_a_row_are_encoded_too(talks: Mill) -> None:
    forged(talks, dropped=[1, 5])
    [finding] = found(talks)[0]
    assert (finding.path, finding.row) == (DOCUMENTS.shard("a"), 0)
    assert finding.what == "the ledger says that its row is in train, but encoded again it is in no split"


def test_the_split_of_each_document_is_drawn_again(talks: Mill) -> None:
    forged(talks, held=pack_bits(np.arange(10) == 1))
    [finding] = found(talks)[0]
    told = "the ledger says that its row is in validation, but encoded again it is in train"
    assert (finding.row, finding.what) == (1, told)


def test_other_ids_and_statistics_are_found(talks: Mill) -> None:
    rows = talks.lines(DOCUMENTS.shard("a"))
    rewrite(talks, DOCUMENTS, "a", [*rows[:3], rows[3].replace(b"Hi 3", b"Ho 3"), *rows[4:]])
    forged(talks, content=talks.table(DOCUMENTS)["a"].content)
    [finding] = found(talks)[0]
    assert (finding.path, finding.row) == (DOCUMENTS.shard("a"), 3)
    assert finding.what.startswith("its input_ids in the cache differ from the reference tokenizer's at token 3 (train")
    forged(talks, facts={**facts_of(talks), "bytes": 1})
    assert found(talks)[0][-1].what == "shard a: its statistics are not those of its documents"


def test_what_the_finding_says_mends_the_cache(talks: Mill) -> None:
    forged(talks, held=pack_bits(np.arange(10) == 1))
    [finding] = found(talks)[0]
    assert finding.mend.startswith(f"remove {HERE.table}, then run `")
    talks.store.delete([HERE.table])
    build(talks, mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop"), parts=2, validation=0.3))
    assert found(talks)[0] == []


def test_a_shard_that_changed_since_is_not_compared(talks: Mill) -> None:
    reseal_shard(talks, DOCUMENTS, "a", content="0")
    [finding] = found(talks)[0]
    assert finding.path == HERE.ledger
    assert "shard a has changed since" in finding.what


def test_a_part_with_another_chat_template_or_vocabulary_is_found(talks: Mill) -> None:
    part = next(iter(talks.table(HERE).values()))
    path = f"{PartRecord.decode_from_row(part, HERE.table).folders['train']}{LEDGER_NAME}"
    data = talks.store.read(path)

    def change(**metadata: object) -> list[str]:
        ledger = json.loads(data)
        ledger["metadata"]["preprocessor_metadata"] |= metadata
        talks.store.put(path, json.dumps(ledger).encode())
        return [finding.what for finding in found(talks)[0]]

    assert change() == []
    assert change(vocab_size=7) == ["its vocab_size are not those of its tokenizer and its recipe"]
    [what] = change(chat_template=f"{TEMPLATE} ")
    assert f"{path}: its chat template is not that of the recipe" in what
