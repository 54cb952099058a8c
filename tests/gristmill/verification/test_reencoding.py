from functools import partial
from pathlib import Path

from talklake import TEMPLATE, build, mix_of, row, started, talk
from testkit import SNAPSHOT
from wholelake import reseal_shard

from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.recipes.row_format import Chat
from gristmill.verification.audit import audit_reencoding

ALL = ShardSample(1)


def test_a_sample_is_encoded_again_by_the_reference(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *[row(n, talk(f"Hi {n}", "x" * (n % 5))) for n in range(20)])
    build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop"), parts=2, validation=0.3))
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    encoded = set[str]()
    assert audit_reencoding(mill.store, here.ledger, ALL, mill.said.append, encoded) == []
    assert mill.said[-1].endswith("16 documents encoded again")
    assert encoded == {"a", "b"}
    half = next(s for s in map(partial(ShardSample, 0.5), range(99)) if s.has(SNAPSHOT, "a") > s.has(SNAPSHOT, "b"))
    encoded.clear()
    assert audit_reencoding(mill.store, here.ledger, half, mill.said.append, encoded) == []
    assert encoded == {"a"}
    _, [part, *_] = read_ledger(mill.store, here)
    swapped = {**part.extra["shards"]["a"], "dropped": [1, 5]}
    assert swapped["dropped"] != part.extra["shards"]["a"]["dropped"]
    reseal_shard(mill, here, part.name, extra={**part.extra, "shards": {"a": swapped}})
    found = audit_reencoding(mill.store, here.ledger, ALL, mill.said.append, set())
    assert "differ from the reference tokenizer's at token" in found[0].what
    documents = place("mixes/talk/documents/pages", SNAPSHOT)
    reseal_shard(mill, documents, "a", content="0")
    [finding] = audit_reencoding(mill.store, here.ledger, ALL, mill.said.append, set())
    assert finding.path == here.ledger
    assert "shard a has changed since" in finding.what
