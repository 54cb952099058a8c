import json
from pathlib import Path

from energonlake import INDEX, close, excluded, export, found, indexed, meta, mixed, records, release_of, why
from testkit import Mill, make_documents

from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.recipes.mix import Mix, Stream

TEXT = EnergonWebdataset(parts={"txt": "text"})


def test_a_takedown_is_excluded_at_once_and_gone_with_its_document(tmp_path: Path) -> None:
    mill, blocks = Mill(tmp_path), "blocklists/takedowns.jsonl"
    mill.raw_shards(2, 10)
    mix = Mix(name="blend", streams=(Stream(source="pages", version="v0", blocklists=("takedowns",)),))
    mill.store.put(blocks, b"")
    mixed(mill, mix)
    export(mill, TEXT, mix)
    close(mill, TEXT, mix)
    first, part = release_of(mill), records(mill)["b"].folder
    assert excluded(mill) == []
    row = make_documents(10, start=10)[3]
    entry = {"source": row["source"], "id": row["id"], "reason": "asked"}
    mill.store.put(blocks, json.dumps(entry).encode() + b"\n")
    assert why(mill, TEXT, mix) != ()
    close(mill, TEXT, mix)
    key = f"{part.rstrip('/').rpartition('-')[2]}-000003"
    assert excluded(mill) == [f"../../{part.removeprefix('exports/blend/energon/')}train-00000.tar/{key}"]
    assert release_of(mill).folder != first.folder
    rows = indexed(mill)  # random access does not read split.yaml
    assert [number for tar, _, number in rows if tar == 1] == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert (len(rows), key in {row[1] for row in rows}) == (19, False)
    assert mill.store.read(f"{first.folder}.nv-meta/split.yaml").endswith(b"exclude: []\n")
    assert (why(mill, TEXT, mix), found(mill, f"{INDEX}/ledger.json")) == ((), [])
    mixed(mill, mix)
    close(mill, TEXT, mix)
    assert len(excluded(mill)) == 1
    export(mill, TEXT, mix)
    close(mill, TEXT, mix)
    assert excluded(mill) == []
    assert sum(json.loads(meta(mill, ".info.json"))["shard_counts"].values()) == 19
