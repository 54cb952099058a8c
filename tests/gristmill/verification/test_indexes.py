"""Whatever a trainer reads beside the parts: merged ledgers, catalogue, configuration, copies, packing plans."""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from corruptions import KNOWN, close_everything, corruptions, missed
from lies import audit, edit, part_object
from testkit import SHELVES, SNAPSHOT, Mill, link
from wholelake import CACHE, STREAM, TOKENIZER, even

from gristmill.formats.levanter.array_writer import Values
from gristmill.formats.levanter.cache import CacheWriter
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, dump_ledger, load_ledger, merged_ledger
from gristmill.formats.levanter.checksums import CHECKSUMS, open_verified_cache, put_checksums
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import compose_index, content_digest, read_index_ledger
from gristmill.lake.store.hashing import Uploads
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep

INDEX = "token_caches/even/tiny-1/index"
MERGED = f"{CACHE.asset}/train/{LEDGER_NAME}"
SAMPLE = 12


@pytest.fixture(scope="module")
def closed_once(made_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = link(made_once, tmp_path_factory.mktemp("closed") / "lake")
    close_everything(Mill(root))
    return root


@pytest.fixture
def everything(closed_once: Path, tmp_path: Path) -> Mill:
    """The lake with both indexes, a consolidated copy and packing plans of two lengths."""
    return Mill(link(closed_once, tmp_path / "lake"))


def told(mill: Mill) -> list[tuple[str, str]]:
    return [(finding.path, finding.what) for finding in audit(mill)[0]]


def reseal_index(mill: Mill, files: dict[str, bytes], name: str = "ledger.json") -> None:
    """Writes files of the index, and a ledger that agrees with them: a consistent lie."""
    ledger = read_index_ledger(mill.store, f"{INDEX}/{name}")
    assert ledger is not None
    digests = dict(ledger.files)
    for path, data in files.items():
        mill.store.put(path, data)
        digests[path] = content_digest(data, path, mill.store.url)
    mill.store.put(f"{INDEX}/{name}", as_json(compose_index(ledger.asset, ledger.inputs, digests)))


def merged_anew(mill: Mill, order: Callable[[list[str]], list[str]]) -> bytes:
    """The merged ledger of other parts, or of the parts in another order; right in itself."""
    old = load_ledger(mill.store.read(MERGED), MERGED)
    parts = order(old["finished_shards"])
    paths = {part: f"{CACHE.asset}/train/{part}/{LEDGER_NAME}" for part in parts}
    ledgers = {part: load_ledger(mill.store.read(path), path) for part, path in paths.items()}
    return dump_ledger(merged_ledger(ledgers, old["metadata"]["preprocessor_metadata"]))


def test_a_lake_with_everything_is_proven(everything: Mill) -> None:
    assert audit(everything) == ([], [])


@pytest.mark.slow
def test_corruptions_drawn_from_all_are_found(everything: Mill) -> None:
    """The number of the commit draws (docs/internals/testing.md); `make attack` tries all."""
    seed = int(os.environ.get("GRISTMILL_KILLS") or 0)
    drawn = random.Random(seed).sample(corruptions(everything, seed), SAMPLE)
    assert [wrong for each in drawn if (wrong := missed(everything, each))] == []


@pytest.mark.parametrize("order", [lambda parts: parts[1:], lambda parts: parts[::-1]], ids=["dropped", "reversed"])
def test_a_merged_ledger_without_a_part_or_in_another_order_is_found_even_if_the_index_agrees(
    everything: Mill, order: Callable[[list[str]], list[str]]
) -> None:
    data = merged_anew(everything, order)
    everything.store.put(MERGED, data)
    path, what = told(everything)[0]
    assert (path, "is not that in the ledger" in what) == (MERGED, True)
    reseal_index(everything, {MERGED: data})
    assert (MERGED, "its parts are not those of the slices, in their order") in told(everything)


@pytest.mark.parametrize(
    ("name", "old", "new", "what"),
    [
        ("cache_catalog.json", b'"total_num_rows":8', b'"total_num_rows":7', "does not hold the ledgers"),
        ("data.yaml", b"tiny-1/pages", b"tiny-1/wages", "its components.pages.cache_dir is"),
        ("index.json", b'"rows":8', b'"rows":9', "totals"),
    ],
)
def test_a_file_that_contradicts_the_slices_is_found_even_if_the_ledger_agrees(
    whole: Mill, name: str, old: bytes, new: bytes, what: str
) -> None:
    path = f"{INDEX}/{name}"
    data = whole.store.read(path)
    assert old in data
    reseal_index(whole, {path: data.replace(old, new, 1)})
    assert [(each, what in words) for each, words in told(whole)][:1] == [(path, True)]


def test_a_slice_s_lost_ledger_is_found_though_a_chunk_is_lost_too(whole: Mill) -> None:
    """Real Levanter then loads rows of zeros: nothing but the index names the chunk."""
    chunk = part_object(whole, "data/c/0")
    whole.store.delete([chunk, CACHE.ledger, CACHE.table, CACHE.run])
    assert told(whole) == [
        (CACHE.ledger, "there is no ledger"),
        (f"{INDEX}/ledger.json", f"made from {CACHE.asset} ({SNAPSHOT}), which has no valid ledger"),
    ]
    for entry in list(whole.store.list(f"{CACHE.asset}/train/{SNAPSHOT}/")):
        whole.store.delete([entry.path])  # nothing of the slice is left
    assert [path for path, _ in told(whole)] == [f"{INDEX}/ledger.json"]


def test_an_index_of_an_earlier_gristmill_asks_for_the_command_that_makes_it_again(everything: Mill) -> None:
    ledgers = [f"{INDEX}/{name}" for name in ("ledger.json", "consolidated/ledger.json", "packing/8.json")]
    everything.store.delete(ledgers)
    what = "there is no ledger: an earlier Gristmill made these files, or the ledger was lost"
    found, _ = audit(everything)
    assert [(each.path, each.what) for each in found] == [(path, what) for path in ledgers]
    assert [each.mend for each in found] == [
        f"run `python -m gristmill make {everything.root} mixes/even`",
        COPY_MEND,
        f"materialize {INDEX}/packing in Dagster with `length: 8`, or remove its files of this length",
    ]


@pytest.mark.slow
def test_a_slice_that_changed_makes_all_stale_that_was_made_from_it(everything: Mill) -> None:
    edit(everything, STREAM.ledger, b'"fingerprint":"', b'"fingerprint":"0')
    stale = [path for path, what in told(everything) if what.startswith("made from mixes/even/documents/pages")]
    exported = "exports/even/oscar/ledgers/pages/2024.json"
    assert stale == ["mixes/even/index/ledger.json", CACHE.ledger, exported]
    everything.store.delete([STREAM.ledger])
    everything.raw("b.jsonl.gz", [{"id": "n", "text": "two words", "source": "pages", "metadata": {"number": 4}}])
    everything.convert()
    everything.tag("words-1", "characters-1")
    everything.revise()
    everything.make(stream_step(even(), "pages", SNAPSHOT, SHELVES))
    everything.make(TokenCacheStep(even(), "pages", TOKENIZER, SNAPSHOT, SHELVES))
    index_cache(everything.store, even(), TOKENIZER, {"pages": everything.source()}, KNOWN)
    stale = [path for path, what in told(everything) if "now" in what]
    assert stale == ["mixes/even/index/ledger.json", *(f"{INDEX}/{name}" for name in STALE), exported]


COPY_MEND = (
    f"remove {INDEX}/consolidated/; if you need the copies, run the job even_index in Dagster with `consolidated: true`"
)
STALE = ("consolidated/ledger.json", "packing/16.json", "packing/8.json")
"""What a person makes again after the cache's index."""


def test_a_copied_lake_is_right_but_for_the_files_that_name_the_other_one(whole: Mill, tmp_path: Path) -> None:
    copied = Mill(Path(shutil.copytree(whole.root, tmp_path / "copied")))
    words = f"its content is not that in the ledger of its index, or it names another lake than {copied.root}"
    assert told(copied) == [(f"{INDEX}/{name}", words) for name in ("cache_catalog.json", "data.yaml")]
    before = copied.store.read(f"{INDEX}/ledger.json")
    index_cache(copied.store, even(), TOKENIZER, {"pages": copied.source()}, {"pages": [SNAPSHOT]})
    assert told(copied) == []
    assert copied.store.read(f"{INDEX}/ledger.json") == before


def test_what_lies_among_the_files_of_an_index_is_a_stray(everything: Mill) -> None:
    copy = next(e.path for e in everything.store.list(f"{INDEX}/consolidated/") if e.path.endswith("sums.json"))
    strays = [
        "mixes/even/index/old.json",
        f"{CACHE.asset}/validation/{LEDGER_NAME}",
        f"{INDEX}/data.yaml~",
        copy.replace("sums.json", "input_ids/data/c/1"),
        f"{INDEX}/packing/wages-train-8.npy",
    ]
    for path in strays:
        assert everything.store.head(path) is None
        everything.store.put(path, b"{}")
    assert {path for path, _ in told(everything)} == set(strays)


def test_a_packing_plan_for_another_merged_ledger_is_found_even_if_its_ledger_agrees(everything: Mill) -> None:
    path = f"{INDEX}/packing/pages-train-8.json"
    data = json.loads(everything.store.read(path)) | {"ledger": "0"}
    reseal_index(everything, {path: as_json(data) + b"\n"}, "packing/8.json")
    assert told(everything) == [(path, "made for another merged ledger of this split than the lake has")]


def forge_plan(mill: Mill, examples: list[int] | None, report: dict[str, object]) -> str:
    """Forges the plan of 16 tokens, its file of examples, and their ledger.

    Args:
        mill: the lake.
        examples: for each example now, the number of the example whose documents it holds.
        report: fields of the report.

    Returns:
        The path of the plan.
    """
    stem = f"{INDEX}/packing/pages-train-16"
    plan, data = json.loads(mill.store.read(f"{stem}.json")), mill.store.read(f"{stem}.npy")
    if examples is not None:
        file = BytesIO()
        np.save(file, np.load(BytesIO(data))[examples])
        data = file.getvalue()
        plan["examples"]["sha256"] = hashlib.sha256(data).hexdigest()
    plan["report"] |= report
    files = {f"{stem}.json": as_json(plan) + b"\n", f"{stem}.npy": data}
    reseal_index(mill, files, "packing/16.json")
    return f"{stem}.json"


OTHER = "its report or its examples are not those that the packer makes"


@pytest.mark.parametrize(
    ("examples", "report", "what"),
    [
        ([0, 0, 0], {}, OTHER),  # the first example, again and again
        ([0, 1], {"examples": 2}, OTHER),
        (None, {"dropped_documents": 1}, OTHER),
        (None, {"segments": 2}, OTHER),
        (None, {"kind": "windows"}, OTHER),
        (None, {"length": 8}, "it is the plan of"),
        (None, {"segments": 0}, "it cannot be made again"),
        (None, {"segments": 10**30}, "it cannot be made again"),
    ],
)
def test_a_forged_packing_plan_is_found_even_if_its_ledger_agrees(
    everything: Mill, examples: list[int] | None, report: dict[str, object], what: str
) -> None:
    path = forge_plan(everything, examples, report)
    assert [(each, what in words) for each, words in told(everything)] == [(path, True)]


def forge_copy(mill: Mill, dtype: DType, order: Callable[[list[Values]], list[Values]]) -> None:
    """Writes other rows into the consolidated copy, and checksums and a ledger of the copies that agree with them."""
    sums = next(e.path for e in mill.store.list(f"{INDEX}/consolidated/") if e.path.endswith(CHECKSUMS))
    folder = sums.removesuffix(CHECKSUMS)
    copy = open_verified_cache(mill.store, folder)
    rows = [row.view(dtype) for row in order([copy.row("input_ids", number) for number in range(copy.rows)])]
    uploads = Uploads(mill.store)
    writer = CacheWriter(lambda name: uploads.open(folder + name), {"input_ids": dtype}, clevel=5)
    writer.append_batch({"input_ids": (np.concatenate(rows), np.array([len(row) for row in rows]))})
    writer.close(copy.ledger["shard_rows"], copy.ledger["metadata"]["preprocessor_metadata"])
    put_checksums(mill.store, folder, uploads.sha256(folder))
    reseal_index(mill, {sums: mill.store.read(sums)}, "consolidated/ledger.json")


@pytest.mark.parametrize(
    ("dtype", "order", "what"),
    [
        ("int32", lambda rows: [row[::-1] for row in rows], "its rows are not those of part"),
        ("int32", lambda rows: rows[::-1], "its rows are not those of part"),
        ("float32", lambda rows: rows, "its fields are not {'input_ids': 'int32'}"),
    ],
    ids=["tokens reversed", "rows reversed", "another type"],
)
def test_a_consolidated_copy_of_other_rows_is_found_even_if_its_checksums_and_ledger_agree(
    everything: Mill, dtype: DType, order: Callable[[list[Values]], list[Values]], what: str
) -> None:
    forge_copy(everything, "int32", lambda rows: rows)
    assert told(everything) == []  # the forger's tools write the same bytes
    forge_copy(everything, dtype, order)
    ((path, words),) = told(everything)
    assert (path, what in words) == (f"{INDEX}/consolidated", True)


@pytest.mark.parametrize("folder", ["", "consolidated/"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tokenizer", "gpt2"),
        ("cache_catalog", "elsewhere.json"),
        ("enforce_eos", False),
        ("auto_build_caches", True),
        ("components.pages.type", "dataset"),
        ("components.pages.split", "validation"),
        ("components.pages.format.type", "chat"),
        ("components.pages.format.text_key", "title"),
        ("train_weights.wages", 1.0),
        ("shuffle", True),
    ],
)
def test_a_configuration_of_another_training_is_found_even_if_its_ledger_agrees(
    everything: Mill, folder: str, key: str, value: object
) -> None:
    path = f"{INDEX}/{folder}data.yaml"
    config = json.loads(everything.store.read(path))
    *outer, last = key.split(".")
    inner = config
    for name in outer:
        inner = inner[name]
    inner[last] = value
    reseal_index(everything, {path: json.dumps(config, indent=2).encode() + b"\n"}, f"{folder}ledger.json")
    ((found, words),) = told(everything)
    assert (found, key in words or "weights" in words) == (path, True)
