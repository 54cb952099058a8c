"""Every object of a lake is read by a search, proven by a digest, or named as not read."""

import json
import re
from pathlib import Path

import pytest
from testkit import SHELVES, SNAPSHOT, Mill, link
from tracelake import KNOWN, even, make_trace_lake, spell
from wholelake import TOKENIZER

from gristmill.lake.address import cache_index
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import as_json, read_ledger
from gristmill.lake.ledger.lake_id import make_lake_id
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.rows.blocklists.blocklist import add_to_blocklist
from gristmill.maintenance.gc import find_unnamed_parts
from gristmill.raw_data.erasures import ErasureRecord
from gristmill.releases.pinned import PinnedRelease
from gristmill.scores.document_columns import make_document_columns
from gristmill.stages.fingerprints.order import Order
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.models.ledger import write_folder
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.takedowns.accounted import find_unread_objects
from gristmill.takedowns.finder import Finder
from gristmill.takedowns.wanted import Wanted

pytestmark = pytest.mark.slow

WANTED = Wanted({("pages", "doc-8"): ""})
ROW = b'{"source":"pages","id":"doc-8","text":"the text of number 8 is this"}\n'


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    """A lake with an object at every kind of path that has no partition, and one of each below partitions."""
    mill = make_trace_lake(tmp_path_factory.mktemp("trace") / "lake", even())
    make_lake_id(mill.store)
    there = mill.documents()
    for shard in read_ledger(mill.store, there)[1]:
        make_document_columns(mill.store, there, shard, ())
    for asset in ("labels/quiz", "models/rude-1"):
        files = {"rows.jsonl": b'{"text":"a"}\n', "weights.bin": b"7"}
        write_folder(mill.store, asset, Recipe(asset, 1, {}), (), files, ("rows.jsonl",), {}, old=None)
    mill.store.put("dedupe/d-1/order.json", as_json(Order()))
    release = PinnedRelease(
        1, "r1", "even", "tiny-1", "", (), (), {}, {"releases/r1/card.json": digest_of("")}
    ).with_digest
    mill.store.put("withdrawn/releases/r1.json", as_json(release))
    record = ErasureRecord(1, (("pages", "doc-8", "asked"),), {}, (), done=True)
    mill.store.put("withdrawn/0123456789abcdef.json", as_json(record))
    return mill


@pytest.fixture
def mill(clean: Mill, tmp_path: Path) -> Mill:
    link(clean.root, tmp_path / "lake")
    return Mill(tmp_path / "lake")


def unproven(mill: Mill) -> list[str]:
    """What a proof names: paths of objects and folders, and the places of the document in files beside shards."""
    search = Finder(mill.store, WANTED, KNOWN, proven=True).run()
    left = find_unread_objects(mill.store, search.read)
    beside = [each.where.partition(": ")[0] for each in search.found if each.area in {"labels", "columns"}]
    return [*left.old, *left.strays, *left.foreign, *left.raw, *beside]


def test_all_of_a_lake_is_accounted_for(mill: Mill) -> None:
    assert set(unproven(mill)) == {"sources/pages/v0/ledgers/documents/2024.columns/a.parquet"}  # it has the document


NAMES = ("x.jsonl", ".x.jsonl", "x.jsonl.gz", "x.json", "2024.examples.json", "2024.columns/a.parquet", "root.json")


def test_a_file_at_any_place_is_named(mill: Mill) -> None:
    folders = {path.relative_to(mill.root).as_posix() for path in mill.root.rglob("*") if path.is_dir()}
    folders |= {".", "labels", "models", "withdrawn/releases", "releases", "blocklists/more", "releases/r1", "copies"}
    planted = [f"{folder}/{name}".removeprefix("./") for folder in folders for name in NAMES]
    planted = [path for path in planted if not (mill.root / path).exists()]
    for path in planted:
        mill.store.put(path, ROW)
    named = unproven(mill)
    hidden = [path for path in planted if not any(path == each or path.startswith(each) for each in named)]
    assert (len(planted) > 300, hidden) == (True, [])


@pytest.mark.slow
def test_a_row_in_the_place_of_any_object_is_named(mill: Mill) -> None:
    kinds = {re.sub(r"[0-9]+|part-[0-9a-f-]+|/[abc]\b", "", entry.path): entry.path for entry in mill.store.list("")}
    hidden = []
    for path in kinds.values():
        if path.startswith("blocklists/"):
            continue
        before = mill.store.read(path)
        mill.store.put(path, ROW)
        if not any(path.startswith(each) for each in unproven(mill)):
            hidden.append(path)
        mill.store.put(path, before)
    assert (len(kinds) > 50, hidden) == (True, [])


def test_what_has_no_digest_has_nothing_beside_its_form(mill: Mill) -> None:
    paths = ["lake.json", "withdrawn/releases/r1.json", "withdrawn/0123456789abcdef.json", "dedupe/d-1/order.json"]
    paths += ["labels/quiz/ledger.json", "mixes/even/ledgers/pages/2024.json", "mixes/even/ledgers/pages/2024.run.json"]
    for path in paths:
        value = json.loads(mill.store.read(path))
        mill.store.put(path, json.dumps(value, indent=1).encode())
    assert not set(paths).intersection(unproven(mill))  # written otherwise, but the same
    for path in paths:
        mill.store.put(path, json.dumps(json.loads(mill.store.read(path)) | {"text": "the text"}).encode())
    assert set(paths) <= set(unproven(mill))
    mill.store.put("blocklists/takedowns.jsonl", ROW.replace(b"}", b',"reason":"x"}'))
    assert "blocklists/takedowns.jsonl" in unproven(mill)
    (mill.root / ".lock").write_bytes(ROW)
    assert ".lock" in unproven(mill)


def test_a_part_that_an_old_index_names_needs_the_next_index_before_gc(mill: Mill) -> None:
    """So it is while an index is held back, because its edition has less than half of what those before had."""
    add_to_blocklist(mill.store, "takedowns", WANTED.reasons)
    mill.make(stream_step(even(), "pages", SNAPSHOT, SHELVES))
    mill.make(TokenCacheStep(even(), "pages", TOKENIZER, SNAPSHOT, SHELVES))
    index = cache_index("even", TOKENIZER.name)

    def parts() -> dict[str, str]:
        old = find_unread_objects(mill.store, Finder(mill.store, WANTED, KNOWN, proven=True).run().read).old
        return {path: why for path, why in old.items() if "/part-" in path}

    kept = parts()
    assert (find_unnamed_parts(mill.store, print), len(kept)) == ([], 2)  # of the splits train and validation
    [why] = set(kept.values())
    assert why.startswith(f"no ledger names it, but {index}, ")
    assert (
        "so gc keeps it; gristmill make, which makes this index or tells what holds it back, then gristmill gc" in why
    )
    spell(mill, even())
    assert parts() == dict.fromkeys(kept, "no ledger names it; remove it with gristmill gc")
    assert [each.folder for each in find_unnamed_parts(mill.store, print)] == list(kept)
