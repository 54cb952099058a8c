from pathlib import Path

from talklake import TEMPLATE, build, mix_of, row, started, talk
from testkit import SNAPSHOT
from wholelake import reseal_shard

from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.recipes.row_format import Chat
from gristmill.verification.audit import audit_reencoding


def test_a_sample_is_encoded_again_by_the_reference(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *[row(n, talk(f"Hi {n}", "x" * (n % 5))) for n in range(20)])
    build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop"), parts=2, validation=0.3))
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    assert audit_reencoding(mill.store, here.ledger, 1, mill.said.append) == []
    assert mill.said[-1].endswith("16 documents encoded again")
    assert audit_reencoding(mill.store, here.ledger, 0.5, mill.said.append) == []
    assert 1 < int(mill.said[-1].split()[-4]) < 16
    _, [part, *_] = read_ledger(mill.store, here)
    swapped = {**part.extra["shards"]["a"], "dropped": [1, 5]}
    assert swapped["dropped"] != part.extra["shards"]["a"]["dropped"]
    reseal_shard(mill, here, part.name, extra={**part.extra, "shards": {"a": swapped}})
    found = audit_reencoding(mill.store, here.ledger, 1, mill.said.append)
    assert "differ from the reference tokenizer's at token" in found[0].what
    documents = place("mixes/talk/documents/pages", SNAPSHOT)
    reseal_shard(mill, documents, "a", content="0")
    [finding] = audit_reencoding(mill.store, here.ledger, 1, mill.said.append)
    assert finding.path == here.ledger
    assert "shard a has changed since" in finding.what
