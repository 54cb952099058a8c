"""What no option of `verify` proves: each entry of the list in two pages is forged, and passes all of them."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import dedupelake
import msgspec
import pytest
from adoptions import adopt, document, write_rows
from dedupeshelf.dedupes import texts
from labelrows import write_rows as write_labels
from lies import part_object
from msgspec.structs import replace as replace_fields
from releasekit import change_whole, release_of_whole, write_older, write_whole
from resealed import Seals
from testkit import Mill, make_documents, own_shelf
from wholelake import STREAM, TOKENIZER, WORDS, even, make_cache, reseal_shard

from gristmill.__main__ import main
from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.lake.address import place
from gristmill.lake.identity import HASH_BYTES
from gristmill.lake.ledger.derived import examples_path
from gristmill.lake.ledger.files import as_json, read_ledger
from gristmill.lake.ledger.index_ledger import compose_index, content_digest, read_index_ledger
from gristmill.lake.ledger.lake_id import LAKE_FILE, LakeId
from gristmill.lake.store.hashing import hash_object
from gristmill.raw_data.erasures import ErasedObject, ErasureRecord
from gristmill.recipes.adopted.dataset import Adopted
from gristmill.recipes.export import Export
from gristmill.recipes.row_format import Text
from gristmill.releases.card import DataCard
from gristmill.releases.card_text import card_text
from gristmill.releases.pinned import pinned_path, read_pinned, withdrawn_path
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.export.index import index_export
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.index import write_mix_index
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.packing.plans import plan_cache
from gristmill.stages.tokenization.files import ledger_path, read_tokenizer_ledger
from gristmill.takedowns.erasing.erasure import erasure_record_path

ROOT = Path(__file__).parents[3]
OPTIONS = ["--raw", "--reconvert", "1", "--retag", "1", "--remix", "1", "--reencode", "1", "--all"]


def raw_data(mill: Mill) -> None:
    rows = make_documents(20)
    rows[4]["text"] = "words of a stranger"
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    mill.tag("words-1", "characters-1")
    follow(mill)


def follow(mill: Mill) -> None:
    """Makes what follows from documents and labels."""
    mill.revise()
    mill.make(stream_step(even(), "pages", "2024", ("gristmill", "testshelf")))
    make_cache(mill)


def invented_erasure(mill: Mill) -> None:
    """A document that the lake never had, "cut" out of a raw object; and a release that nobody made, "withdrawn"."""
    raw = "sources/pages/raw/2024/a.jsonl.gz"
    erased = {raw: ErasedObject("0" * 64, hash_object(mill.store, raw), 1)}
    stranger = ("pages", "of a stranger")
    record = ErasureRecord(1, ((*stranger, "asked"),), erased, (), done=True)
    mill.store.put(erasure_record_path({stranger: "asked"}), as_json(record))
    mill.store.put(withdrawn_path("strange"), b'{"objects":"of a stranger"}')


def adopted(mill: Mill) -> None:
    top = mill.root.parent / "dolma"
    declared = f"Adopted(name='s2', root={str(top)!r}, folders=('v0',))"
    own_shelf(mill, "sources", f"from gristmill.recipes.adopted.dataset import Adopted\nS2 = {declared}\n")
    path = write_rows(top / "v0" / "documents" / "a.jsonl.gz", [document("1")])
    adopt(mill, Adopted(name="s2", root=str(top), folders=("v0",)))
    assert main(["verify", str(mill.root), "--all"]) == 0
    write_rows(path, [document("1", "words of a stranger")])
    assert main(["verify", str(mill.root), "--all"]) == 1
    adopt(mill, Adopted(name="s2", root=str(top), folders=("v0",)))


def notes_and_drafts(mill: Mill) -> None:
    note = json.loads(mill.store.read(STREAM.run))
    mill.store.put(STREAM.run, json.dumps({**note, "about": {"commit": "of a stranger"}}).encode())
    head = read_ledger(mill.store, STREAM)[0]
    mill.store.put(STREAM.ledger, as_json(head).replace(b'"draft":false', b'"draft":true'))
    assert read_ledger(mill.store, STREAM)[0].recipe.draft


def other_code(mill: Mill) -> None:
    rows = mill.lines(WORDS.shard("a"))
    write_labels(mill, WORDS, "a", [row.replace(b"3.0]", b"9.0]") for row in rows])
    note = json.loads(mill.store.read(WORDS.run))
    mill.store.put(WORDS.run, json.dumps({**note, "codes": {"0123": ""}}).encode())
    follow(mill)


def nobodys_mix(mill: Mill) -> None:
    strange = replace(even(), name="strange")
    mill.make(stream_step(strange, "pages", "2024", ("gristmill", "testshelf")))
    write_mix_index(mill.store, strange, {"pages": mill.source()}, {"pages": ["2024"]})


def order(mill: Mill) -> None:
    """Snapshot b came first, so that its copy stays."""
    own_shelf(mill, "dedupes", Path(texts.__file__).read_text())
    for entry in list(mill.store.list("")):
        mill.store.delete([entry.path])
    for snapshot in ("b", "a"):
        dedupelake.put(mill, snapshot, "x", "one", "two")
        dedupelake.resolved(mill, "texts-1")
    assert all(dedupelake.labels(mill, "texts-1", "a").values())
    assert not any(dedupelake.labels(mill, "texts-1", "b").values())


def block(mill: Mill) -> None:
    mix = replace(even(), block=7)
    index_cache(mill.store, mix, TOKENIZER, {"pages": mill.source()}, {"pages": ["2024"]})
    assert b'"mixture_block_size": 7' in mill.store.read("token_caches/even/tiny-1/index/data.yaml")


def plan(mill: Mill) -> None:
    mix = replace(even(), streams=(replace(even().streams[0], format=Text(pack=3)),))
    plan_cache(mill.store, mix, TOKENIZER, 32, mill.said.append)


def sealed_again(mill: Mill, name: str, old: bytes, new: bytes) -> None:
    """Changes a file of the release, and seals the release again."""
    path = f"releases/first/{name}"
    data = mill.store.read(path)
    assert old in data
    mill.store.put(path, data.replace(old, new))
    release = read_pinned(mill.store, "first")
    files = release.files | {path: content_digest(data.replace(old, new), path, mill.store.url)}
    mill.store.put(pinned_path("first"), as_json(replace_fields(release, files=files).with_digest))


def old_release(mill: Mill) -> None:
    """What it pins was made again since. The weight is that of a stranger."""
    write_whole(mill)
    change_whole(mill)
    sealed_again(mill, "data.yaml", b'"pages": 1.0', b'"pages": 0.5')


def another_lake(mill: Mill) -> None:
    write_whole(mill)
    for name in ("data.yaml", "cache_catalog.json"):
        path = f"releases/first/{name}"
        mill.store.put(path, mill.store.read(path).replace(f'"{mill.store.url}/'.encode(), b'"/strange/lake/'))


def no_digests(mill: Mill) -> None:
    """Like a release and a tokenizer of older versions."""
    write_whole(mill)
    tokenizer = read_tokenizer_ledger(mill.store, TOKENIZER.name)
    assert tokenizer is not None
    mill.store.put(ledger_path(TOKENIZER.name), as_json(replace_fields(tokenizer, digest="")))
    mill.store.put(pinned_path("first"), as_json(replace_fields(read_pinned(mill.store, "first"), digest="")))


LINES = Export(name="lines", mixes=("even",), format=EnergonJsonl(file_bytes=1_000_000))


def exported(mill: Mill, weight: float = 1.0) -> None:
    """The export of a shelf, of a mix whose stream has perhaps another weight than there."""
    mix = replace(even(), streams=(replace(even().streams[0], weight=weight),))
    mill.make(ExportStep(mix, "pages", LINES, "2024", ("gristmill", "testshelf")))
    index_export(mill.store, mix, LINES, {"pages": mill.source()}, {"pages": ["2024"]})


def shelf_of_lines(mill: Mill) -> None:
    imports = "from gristmill.recipes.export import Export\nfrom gristmill.energon.recipes.exports import *\n"
    own_shelf(mill, "exports", f"{imports}LINES = {LINES!r}\n")


def weight_of_an_export(mill: Mill) -> None:
    shelf_of_lines(mill)
    exported(mill, 0.25)


def older_release_of_an_export(mill: Mill) -> None:
    shelf_of_lines(mill)
    exported(mill)
    before = [entry.path for entry in mill.store.list("exports/even/lines/index/")]
    change_whole(mill)
    exported(mill)
    mill.store.put(next(path for path in before if "/release-" in path and path.endswith(".jsonl")), b"{}\n")


def words_of_a_card(mill: Mill) -> None:
    shelves = "gristmill,testshelf"
    assert main(["release", str(mill.root), "even", "tiny-1", "first", "--shelves", shelves]) == 0
    sealed_again(mill, "card.json", b'"because": "a number', b'"because": "no number')
    path = "releases/first/card.md"
    card = msgspec.json.decode(mill.store.read("releases/first/card.json"), type=DataCard)
    sealed_again(mill, "card.md", mill.store.read(path), card_text(card).encode())


def older_card(mill: Mill) -> None:
    write_older(mill, release_of_whole(mill))


def absent(mill: Mill) -> None:
    top = "mixes/even/index"
    write_mix_index(mill.store, even(), {"pages": mill.source()}, {"pages": ["2024"]})
    data = as_json({**json.loads(mill.store.read(f"{top}/index.json")), "absent": ["pages/2030"]})
    mill.store.put(f"{top}/index.json", data)
    ledger = read_index_ledger(mill.store, f"{top}/ledger.json")
    assert ledger is not None
    digests = ledger.files | {f"{top}/index.json": content_digest(data, f"{top}/index.json", mill.store.url)}
    mill.store.put(f"{top}/ledger.json", as_json(compose_index(ledger.asset, ledger.inputs, digests)))


def old_index(mill: Mill) -> None:
    documents = place("sources/pages/v0/documents", "2024")
    [row, *_] = read_ledger(mill.store, documents)[1]
    data = mill.store.read(documents.index(row.name))[: HASH_BYTES * row.rows]
    mill.store.put(documents.index(row.name), data)
    reseal_shard(mill, documents, row.name, index=hashlib.sha256(data).hexdigest())


def packed_otherwise(mill: Mill) -> None:
    """A comment in the header of a gzip member, which every reader skips."""
    documents = place("sources/pages/v0/documents", "2024")
    [row, *_] = read_ledger(mill.store, documents)[1]
    assert len(row.members) == 1
    data = mill.store.read(documents.shard(row.name))
    commented = data[:3] + bytes([data[3] | 16]) + data[4:10] + b"words of a stranger\0" + data[10:]
    mill.store.put(documents.shard(row.name), commented)
    reseal_shard(mill, documents, row.name, sha256=hashlib.sha256(commented).hexdigest(), bytes=len(commented))


def of_other_rows(mill: Mill) -> None:
    mill.store.put(examples_path(WORDS), b'{"contents":{"a":"of other rows"},"examples":[]}')


def less_metadata(mill: Mill) -> None:
    seals, path = Seals(mill), part_object(mill, "/shard_ledger.json")
    ledger = json.loads(mill.store.read(path))
    del ledger["metadata"]["preprocessor_metadata"]["append_eos"]
    mill.store.put(path, json.dumps(ledger).encode())
    assert seals.seal(path)
    index_cache(mill.store, even(), TOKENIZER, {"pages": mill.source()}, {"pages": ["2024"]})


def other_id(mill: Mill) -> None:
    mill.store.put(LAKE_FILE, as_json(LakeId("0" * 32)))


FORGED: dict[str, tuple[Callable[[Mill], None], str]] = {
    "raw data, labelled sets, models": (raw_data, ""),
    "the records of erasures": (invented_erasure, ""),
    "how bytes are packed": (packed_otherwise, ""),
    "adopted files": (adopted, "not derived again, adopted"),
    "the notes of runs": (notes_and_drafts, ""),
    "shards whose code": (other_code, f"{WORDS.asset} (2024): not proven, code changed"),
    "assets that no recipe": (
        nobodys_mix,
        "mixes/strange/documents/pages (2024): not proven, no recipe on the shelves",
    ),
    "the order of the snapshots": (order, ""),
    "what only the mix's recipe says": (block, ""),
    "in a packing plan": (plan, ""),
    "row numbers and raw spans in an id index": (
        old_index,
        "shard a: id index made by version 0.1: row numbers and raw spans not compared",
    ),
    "in `index.json` of an index": (absent, ""),
    "of a release: ledgers": (
        old_release,
        "the weights, the block and the packing in data.yaml: the index has changed",
    ),
    "in a release, the lake": (another_lake, "reads the lake /strange/lake, from which this one was copied"),
    "the digest of a release or of a tokenizer": (
        no_digests,
        "releases/first.json: not proven: it has no digest of itself",
    ),
    "counters and the data card": (older_card, ""),
    "what only the recipes say of the release of an export": (
        weight_of_an_export,
        "exports/even/lines/index/release.json: not proven, recipe changed: the shelves have another value of weights",
    ),
    "older releases of an export": (older_release_of_an_export, "files of older releases; gc removes those"),
    "descriptions, owners": (words_of_a_card, "words of its card"),
    "columns and excerpts": (of_other_rows, ""),
    "metadata that a Levanter ledger": (less_metadata, "it says nothing of append_eos"),
    "the lake's id": (other_id, ""),
}
"""By the first words of an entry: who forges it, and what a note says of it."""


def entries(page: str) -> list[str]:
    """The entries of the list in a page, without their indents."""
    _, _, after = (ROOT / page).read_text().partition("can change these without a finding:\n\n")
    listed = re.match(r"(?: *- .+\n)+", after)
    assert listed
    return [line.strip().removeprefix("- ") for line in listed[0].splitlines()]


def test_the_list_of_both_pages_is_the_one_that_is_forged_here() -> None:
    listed = entries("docs/reference/ledger.md")
    assert entries("SECURITY.md") == listed
    assert [next((words for words in FORGED if each.startswith(words)), each) for each in listed] == list(FORGED)


@pytest.mark.slow
@pytest.mark.parametrize("entry", FORGED)
def test_what_the_pages_list_passes_every_option(
    whole: Mill, entry: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forge, note = FORGED[entry]
    monkeypatch.syspath_prepend(str(whole.root.parent))
    forge(whole)
    own = sorted(path.name for path in whole.root.parent.glob("own_*"))
    capsys.readouterr()
    shelves = ",".join(("gristmill", "testshelf", *own))
    assert main(["verify", str(whole.root), "--shelves", shelves, *OPTIONS]) == 0
    assert note in capsys.readouterr().out
