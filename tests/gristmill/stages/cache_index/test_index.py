import json
from dataclasses import replace

import pytest
from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import TOKENIZER, even

from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import compose_index, content_digest, read_index_ledger
from gristmill.stages.cache_index.index import index_cache, why_cache_open
from gristmill.verification.indexes import index_findings

KNOWN = {"pages": [SNAPSHOT]}


INDEX = "token_caches/even/tiny-1/index"


def why(mill: Mill, *more: str) -> tuple[str, ...]:
    return why_cache_open(mill.store, even(), TOKENIZER, {"pages": mill.source()}, {"pages": [SNAPSHOT, *more]})


@pytest.mark.parametrize(
    ("name", "damage", "reason"),
    [
        ("data.yaml", b"x", "its content is not that in the ledger of its index"),
        ("cache_catalog.json", None, "there is no such object"),
        ("index.json", None, "there is no such object"),
        ("ledger.json", None, "it has no ledger"),
        ("ledger.json", b"{", "not the ledger of an index"),
        ("ledger.json", b'{"a":' * 100_000, "not the ledger of an index"),
        ("../pages/train/shard_ledger.json", None, "there is no such object"),
    ],
)
def test_an_index_is_open_if_one_of_its_files_is_lost_or_changed_and_is_mended(
    whole: Mill, name: str, damage: bytes | None, reason: str
) -> None:
    assert why(whole) == ()
    path = f"{INDEX}/{name}".replace("index/../", "")
    before = whole.tree()
    whole.store.delete([path]) if damage is None else whole.store.put(path, damage)
    [first, *_] = why(whole)
    assert reason in first
    index_cache(whole.store, even(), TOKENIZER, {"pages": whole.source()}, KNOWN)
    assert whole.tree() == before
    assert why(whole) == ()


def test_an_index_is_open_if_its_slices_or_its_recipe_would_give_other_files(whole: Mill) -> None:
    assert why(whole, "2025") == ("token_caches/even/tiny-1/index/index.json should have another content",)
    heavier = replace(even(), block=4096)
    [reason] = why_cache_open(whole.store, heavier, TOKENIZER, {"pages": whole.source()}, KNOWN)
    assert reason == f"{INDEX}/data.yaml should have another content"


def test_a_merged_ledger_of_a_split_or_a_stream_that_is_gone_is_due_and_is_removed(whole: Mill) -> None:
    """It names old parts, so gc would keep them for ever, and a trainer that reads the folder would read them."""
    top = INDEX.removesuffix("/index")
    before = whole.tree()
    stale = [f"{top}/before/train/shard_ledger.json", f"{top}/pages/validation/shard_ledger.json"]
    for path in stale:
        whole.store.put(path, whole.store.read(f"{top}/pages/train/shard_ledger.json"))
    assert why(whole) == tuple(f"{path}: no stream of the mix has this split" for path in stale)
    index_cache(whole.store, even(), TOKENIZER, {"pages": whole.source()}, KNOWN)
    assert (whole.tree(), why(whole)) == (before, ())


def test_an_index_over_the_same_parts_writes_nothing_anew(whole: Mill) -> None:
    before = whole.stamps()
    index_cache(whole.store, even(), TOKENIZER, {"pages": whole.source()}, KNOWN)
    assert whole.stamps() == before


def test_the_catalogue_names_the_tokenizer_as_the_configuration_does_and_an_earlier_one_is_due(whole: Mill) -> None:
    """Levanter warns if they differ. An earlier catalogue is no damage, and the parts stay as they are."""
    config, path = json.loads(whole.store.read(f"{INDEX}/data.yaml")), f"{INDEX}/cache_catalog.json"
    entry = json.loads(whole.store.read(path))["splits"]["train"]["pages"]["ledger"]
    assert entry["metadata"]["preprocessor_metadata"]["tokenizer"] == config["tokenizer"]
    after = whole.tree()
    earlier = whole.store.read(path).replace(f'"{config["tokenizer"]}"'.encode(), b'"tokenizers/tiny-1"')
    whole.store.put(path, earlier)
    ledger = read_index_ledger(whole.store, f"{INDEX}/ledger.json")
    assert ledger is not None
    files = ledger.files | {path: content_digest(earlier, path, whole.store.url)}
    whole.store.put(f"{INDEX}/ledger.json", as_json(compose_index(INDEX, ledger.inputs, files)))
    assert list(index_findings(whole.store, f"{INDEX}/ledger.json", SHELVES, whole.said.append)) == []
    assert why(whole) == (f"{path} names the tokenizer otherwise than data.yaml",)
    index_cache(whole.store, even(), TOKENIZER, {"pages": whole.source()}, KNOWN)
    assert whole.tree() == after
