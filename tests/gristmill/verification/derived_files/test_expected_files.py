"""An index and a release that were forged and sealed again: further files and ledgers, lost splits, another order."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from corruptions import close_everything
from lies import audit
from testkit import SHELVES, Mill, link
from wholelake import CACHE

from gristmill.__main__ import main
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, dump_ledger
from gristmill.lake.asset_kinds import ledger_of_asset
from gristmill.lake.ledger.files import as_json, read_ledger
from gristmill.lake.ledger.index_ledger import compose_index, content_digest, read_index_ledger
from gristmill.lake.ledger.model import Upstream
from gristmill.releases.pinned import PinnedRelease, pinned_path, read_pinned
from gristmill.stages.mixing.index import Index, fingerprint_of_slices, index_path, read_index
from gristmill.stages.token_cache.levanter_config import CATALOG, DATA_YAML, cache_catalog
from gristmill.stages.token_cache.merged_ledger import merge_slices
from gristmill.verification.derived_files.expected_files import file_contradictions
from gristmill.verification.derived_files.finished_slices import OTHER_ORDER
from gristmill.verification.lake_file import release_findings

INDEX = "token_caches/even/tiny-1/index"
OSCAR = "exports/even/oscar/index"
MIX = "mixes/even/index"


@pytest.fixture(scope="module")
def closed_once(made_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = link(made_once, tmp_path_factory.mktemp("closed") / "lake")
    close_everything(Mill(root))
    return root


@pytest.fixture
def closed(closed_once: Path, tmp_path: Path) -> Mill:
    """The lake with two snapshots, all indexes, copies and plans."""
    return Mill(link(closed_once, tmp_path / "lake"))


def reseal(mill: Mill, path: str, files: dict[str, bytes | None], index: Index | None = None) -> None:
    """Writes files, and the ledger of an index that names them; None: it does not name the file any more."""
    ledger = read_index_ledger(mill.store, path)
    assert ledger is not None
    digests = {name: digest for name, digest in ledger.files.items() if name not in files}
    for name, data in files.items():
        if data is None:
            mill.store.delete([name])
        else:
            mill.store.put(name, data)
            digests[name] = content_digest(data, name, mill.store.url)
    inputs = ledger.inputs
    if index is not None:
        asset = inputs[0].asset.rpartition("/")[0]
        inputs = tuple(Upstream(f"{asset}/{s.stream}", s.snapshot, s.fingerprint) for s in index.slices)
    mill.store.put(path, as_json(compose_index(ledger.asset, inputs, digests)))


def test_an_index_without_a_slice_may_have_a_held_out_split() -> None:
    """After all data of a mix vanished: no slice says whether its mix holds rows out."""
    stream = INDEX.removesuffix("index") + "pages"
    names = [index_path(INDEX), f"{INDEX}/{CATALOG}", f"{INDEX}/{DATA_YAML}", f"{stream}/train/{LEDGER_NAME}"]
    for more in ([], [f"{stream}/validation/{LEDGER_NAME}"]):
        ledger = compose_index(INDEX, (), dict.fromkeys([*names, *more], "digest"))
        assert list(file_contradictions(ledger, [])) == []
    named = [path for path, _ in file_contradictions(compose_index(INDEX, (), {f"{stream}/train/more": ""}), [])]
    assert f"{stream}/train/more" in named


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ledger", "name"),
    [
        (ledger_of_asset(MIX), f"{MIX}/more.json"),
        (ledger_of_asset(INDEX), f"{INDEX}/more.json"),
        (f"{INDEX}/consolidated/ledger.json", f"{INDEX}/consolidated/more.yaml"),
        (f"{INDEX}/packing/8.json", f"{INDEX}/packing/more-8.npy"),
    ],
)
def test_a_file_that_no_such_index_has_is_found(closed: Mill, ledger: str, name: str) -> None:
    reseal(closed, ledger, {name: b"{}"})
    assert [finding.path for finding in audit(closed)[0]] == [name]


@pytest.mark.slow
def test_a_further_file_of_documents_in_a_release_of_an_export_is_found(closed: Mill) -> None:
    """A trainer that lists the folder reads it."""
    files = read_index_ledger(closed.store, ledger_of_asset(OSCAR))
    assert files is not None
    first = next(path for path in files.files if path.endswith(".jsonl.gz"))
    more = first.replace(".jsonl.gz", "_part_2.jsonl.gz")
    reseal(closed, ledger_of_asset(OSCAR), {more: closed.store.read(first)})
    assert [finding.path for finding in audit(closed)[0]] == [more]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["validation", "plans"])
def test_a_split_that_an_index_lacks_is_found(closed: Mill, what: str) -> None:
    """By what the recipes of its slices declare."""
    path = ledger_of_asset(INDEX) if what == "validation" else f"{INDEX}/packing/8.json"
    ledger = read_index_ledger(closed.store, path)
    head, _ = read_ledger(closed.store, CACHE)
    recipe = msgspec.structs.replace(head.recipe, parameters=head.recipe.parameters | {"validation": 0.5})
    assert ledger is not None
    assert list(file_contradictions(ledger, [head])) == []
    found = list(file_contradictions(ledger, [msgspec.structs.replace(head, recipe=recipe)]))
    lost = {
        "validation": f"{CACHE.asset}/validation/{LEDGER_NAME}",
        "plans": f"{INDEX}/packing/pages-validation-8.json",
    }
    assert [name for name, _ in found] == [lost[what]]


def turned(mill: Mill, asset: str) -> Index:
    """The index of the same slices, the last snapshot first."""
    index = read_index(mill.store, asset)
    assert index is not None
    slices = index.slices[::-1]
    assert slices != index.slices
    fingerprint = fingerprint_of_slices(asset, slices)
    return msgspec.structs.replace(index, slices=slices, fingerprint=fingerprint)


@pytest.mark.slow
def test_snapshots_in_another_order_are_found(closed: Mill) -> None:
    """A trainer reads the parts of a stream in the order of the merged ledger."""
    index = turned(closed, INDEX)
    merged = merge_slices(closed.store, CACHE.asset, "train", [each.snapshot for each in index.slices])
    catalog = cache_catalog(closed.store.url, {"train": {"pages": (f"{CACHE.asset}/train", merged)}}, "tiny-1")
    files: dict[str, bytes | None] = {
        index_path(INDEX): as_json(index),
        f"{CACHE.asset}/train/{LEDGER_NAME}": dump_ledger(merged),
        f"{INDEX}/cache_catalog.json": catalog,
    }
    reseal(closed, ledger_of_asset(INDEX), files, index)
    assert (ledger_of_asset(INDEX), OTHER_ORDER) in [(f.path, f.what) for f in audit(closed)[0]]


@pytest.fixture
def released(closed: Mill) -> Mill:
    assert main(["release", str(closed.root), "even", "tiny-1", "first", "--shelves", ",".join(SHELVES)]) == 0
    return closed


def forged(mill: Mill, change: Callable[[PinnedRelease], dict[str, Any]]) -> list[str]:
    """Forges the release, and seals it over its files. Returns the findings."""
    release = read_pinned(mill.store, "first")
    files = {path: content_digest(mill.store.read(path), path, mill.store.url) for path in release.files}
    changed = msgspec.structs.replace(release, files=files, **change(release))
    mill.store.put(pinned_path("first"), as_json(changed.with_digest))
    return [finding.what for finding in release_findings(mill.store, mill.said.append, SHELVES)]


@pytest.mark.slow
def test_a_release_with_snapshots_in_another_order_is_found(released: Mill) -> None:
    parts = merge_slices(released.store, CACHE.asset, "train", ["2025", "2024"])
    catalog = cache_catalog(released.store.url, {"train": {"pages": (f"{CACHE.asset}/train", parts)}}, "tiny-1")
    released.store.put("releases/first/cache_catalog.json", catalog)
    found = forged(released, lambda release: {"slices": release.slices[::-1]})
    assert found == ["its slices are in another order than those of the index that it names"]


@pytest.mark.slow
def test_a_weight_that_an_older_version_wrote_as_a_whole_number_is_no_finding(released: Mill) -> None:
    path = "releases/first/card.json"
    card = json.loads(released.store.read(path))
    card["streams"][0]["weight"] = 1
    released.store.put(path, json.dumps(card, indent=2, ensure_ascii=False).encode() + b"\n")
    assert forged(released, lambda _: {}) == []
