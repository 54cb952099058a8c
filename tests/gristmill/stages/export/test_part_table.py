from typing import Any

import msgspec
from exported import HERE, step_of
from testkit import Mill
from wholelake import table

from gristmill.lake.ledger.model import Shard
from gristmill.stages.export.part_table import check_export_complete


def said(mill: Mill, parts: list[Shard], documents: list[Shard] | None = None) -> str:
    found = table(mill, step_of().documents) if documents is None else documents
    return check_export_complete(mill.store, found, parts, HERE).description


def changed(mill: Mill, **changes: Any) -> list[Shard]:
    first, *others = table(mill, HERE)
    return [msgspec.structs.replace(first, **changes), *others]


def test_a_complete_slice_passes_with_its_counts(exported: Mill) -> None:
    verdict = check_export_complete(exported.store, table(exported, step_of().documents), table(exported, HERE), HERE)
    assert (verdict.passed, verdict.description) == (
        True,
        "20 rows of 2 shards: 20 in files, 0 refused by the format",
    )
    assert verdict.metadata == {"shards": 2, "rows": 20, "parts": 2, "rows refused": 0, "files": 4}


def test_shards_and_parts_belong_together(exported: Mill) -> None:
    parts, documents = table(exported, HERE), table(exported, step_of().documents)
    assert "shard b of the mix has no part" in said(exported, parts[:1])
    assert "part b has no shard in the mix" in said(exported, parts, documents[:1])
    other = [msgspec.structs.replace(documents[0], content="0"), documents[1]]
    assert "part a was made from another version" in said(exported, parts, other)
    longer = [msgspec.structs.replace(documents[0], rows=11), documents[1]]
    assert "part a has 10 rows and 0 were refused, but its shard has 11" in said(exported, parts, longer)
    assert "its ids digest is" in said(exported, changed(exported, ids="0"))


def test_the_row_follows_from_its_record(exported: Mill) -> None:
    extra = table(exported, HERE)[0].extra
    assert "the content digest of its record" in said(exported, changed(exported, content="0"))
    assert "the bytes of its record" in said(exported, changed(exported, bytes=1))
    assert "does not say which files it has" in said(exported, changed(exported, extra={}))
    en, fr = extra["files"]["en.jsonl.gz"], extra["files"]["fr.jsonl.gz"]
    twice = extra | {"files": {"en.jsonl.gz": en, "fr.jsonl.gz": fr | {"documents": en["documents"]}}}
    assert "row 0 of its shard is in two files" in said(exported, changed(exported, extra=twice))
    lost = extra | {"files": {"en.jsonl.gz": en}}
    assert "its objects are not its files and part.json" in said(exported, changed(exported, extra=lost))


def test_objects_that_are_lost_or_of_another_size_are_found(exported: Mill) -> None:
    parts = table(exported, HERE)
    path = next(path for path in parts[0].objects or {} if path.endswith("fr.jsonl.gz"))
    good = exported.store.read(path)
    exported.store.put(path, good + b"x")
    assert said(exported, parts).startswith(f"{path}: the object's bytes are")
    exported.store.delete([path])
    assert said(exported, parts).startswith(f"{path}: there is no such object")
