"""A release that was forged and sealed again: what does not follow from its ledgers, index and recipes is a finding."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from releasekit import change_whole
from testkit import SHELVES, Mill
from wholelake import CACHE

from gristmill.__main__ import main
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import content_digest
from gristmill.releases.pinned import pinned_path, read_pinned
from gristmill.verification.lake_file import release_findings

pytestmark = pytest.mark.slow

FOLDER = "releases/first"


@pytest.fixture
def released(whole: Mill) -> Mill:
    """The lake with a release that has a data card."""
    shelves = ",".join(SHELVES)
    assert main(["release", str(whole.root), "even", "tiny-1", "first", "--shelves", shelves]) == 0
    whole.said.clear()
    return whole


def found(mill: Mill, shelves: tuple[str, ...] = SHELVES) -> list[tuple[str, str]]:
    mill.said.clear()
    return [(finding.path, finding.what) for finding in release_findings(mill.store, mill.said.append, shelves)]


def seal(mill: Mill, **changes: object) -> None:
    """Seals the release again over its files as they are."""
    release = read_pinned(mill.store, "first")
    files = {path: content_digest(mill.store.read(path), path, mill.store.url) for path in release.files}
    mill.store.put(pinned_path("first"), as_json(msgspec.structs.replace(release, files=files, **changes).with_digest))


def forge(mill: Mill, name: str, change: Callable[[Any], object]) -> str:
    """Changes a JSON file of the release, in the form that it has."""
    path = f"{FOLDER}/{name}"
    value = json.loads(mill.store.read(path))
    change(value)
    if name == "cache_catalog.json":
        data = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    else:
        data = json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"
    mill.store.put(path, data)
    seal(mill)
    return path


def test_a_good_release_has_no_finding_and_no_note(released: Mill) -> None:
    assert found(released) == []
    assert released.said == []
    assert found(released, ()) == []
    [note] = released.said
    assert "card.json: no recipe on the shelves makes the mix" in note


def weights(config: Any) -> None:
    config["train_weights"]["pages"] = 0.5


def folder(config: Any) -> None:
    config["components"]["pages"]["cache_dir"] += "-of-a-stranger"


def eos(config: Any) -> None:
    config["enforce_eos"] = not config["enforce_eos"]


def rows(catalog: Any) -> None:
    catalog["splits"]["train"]["pages"]["ledger"]["total_num_rows"] = 1


def no_stream(catalog: Any) -> None:
    catalog["splits"]["train"].pop("pages")


def licence(card: Any) -> None:
    card["streams"][0]["licence"] = "CC0-1.0"


def tokens(card: Any) -> None:
    card["tokens"] = 999


def dropped(card: Any) -> None:
    card["steps"][0]["dropped"] = []


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("data.yaml", weights, "its weights, its block or its packing are not those of the index"),
        ("data.yaml", folder, "its components.pages.cache_dir is"),
        ("data.yaml", eos, "its enforce_eos is"),
        ("cache_catalog.json", rows, "it does not hold the ledgers of the parts that the release pins"),
        ("cache_catalog.json", no_stream, "it does not hold the ledgers of the parts that the release pins"),
        ("card.json", licence, "its streams.licence do not follow from"),
        ("card.json", tokens, "its tokens do not follow from"),
        ("card.json", dropped, "its steps.dropped do not follow from"),
    ],
)
def test_a_forged_file_is_a_finding_though_the_release_is_sealed_again(
    released: Mill, name: str, change: Callable[[Any], object], what: str
) -> None:
    path = forge(released, name, change)
    assert [words for each, words in found(released) if each == path and what in words]


@pytest.mark.parametrize("name", ["card.md", "croissant.json"])
def test_the_other_forms_of_the_card_say_what_it_says(released: Mill, name: str) -> None:
    path = f"{FOLDER}/{name}"
    released.store.put(path, released.store.read(path).replace(b"even", b"odds"))
    seal(released)
    assert found(released) == [(path, "it does not follow from card.json and the ledgers")]


def test_what_only_recipes_say_of_a_card_is_a_note(released: Mill) -> None:
    forge(released, "card.json", lambda card: card.update(description="other words"))
    assert f"{FOLDER}/card.json" not in dict(found(released))
    assert any("words of its card" in note and "description" in note for note in released.said)


def test_forged_ledgers_and_objects_left_out_are_findings(released: Mill) -> None:
    release = read_pinned(released.store, "first")
    ledgers = tuple(msgspec.structs.replace(each, dropped={}) for each in release.ledgers)
    seal(released, ledgers=ledgers)
    assert any("its dropped of sources/pages/v1/documents (2024) are not" in what for _, what in found(released))
    chunk = next(path for path in release.objects if path.endswith("input_ids/data/c/0"))
    objects = {path: each for path, each in release.objects.items() if path != chunk}
    seal(released, ledgers=release.ledgers, objects=objects)
    assert (pinned_path("first"), f"it does not name {chunk} as the ledger of the lake does") in found(released)
    seal(released, objects=release.objects, slices=())
    assert (pinned_path("first"), "its slices are not those of its ledgers") in found(released)


def test_old_parts_that_only_a_release_names_are_counted_and_not_called_proven(released: Mill) -> None:
    change_whole(released)
    assert found(released) == []
    named = [note for note in released.said if "bytes of its objects" in note]
    release = read_pinned(released.store, "first")
    old = sum(size for path, (_, size) in release.objects.items() if path.startswith("token_caches/"))
    whole = sum(size for _, size in release.objects.values())
    share = f"{old:,} of the {whole:,} bytes of its objects ({100 * old / whole:.1f}%)"
    assert [share in note for note in named] == [True]
    assert any(f"{CACHE.asset} (2024)" in note or "and 2 more" in note for note in released.said)
    path = forge(released, "cache_catalog.json", rows)
    assert path in dict(found(released))


def test_a_release_that_lacks_a_slice_of_the_index_that_it_names_is_a_finding(released: Mill) -> None:
    release = read_pinned(released.store, "first")
    seal(released, slices=(), ledgers=tuple(each for each in release.ledgers if each.asset != CACHE.asset))
    wrong = "its slices are not those of the index that it names"
    assert wrong in [what for _, what in found(released)]


@pytest.mark.parametrize("name", ["data.yaml", "cache_catalog.json", "card.json", "card.md", "croissant.json"])
def test_a_file_that_the_release_no_longer_names_is_found(released: Mill, name: str) -> None:
    """Nothing else proves it: it could be any file."""
    release, path = read_pinned(released.store, "first"), f"{FOLDER}/{name}"
    released.store.put(path, released.store.read(path).replace(b"pages", b"leaves"))
    files = {each: digest for each, digest in release.files.items() if each != path}
    released.store.put(pinned_path("first"), as_json(msgspec.structs.replace(release, files=files).with_digest))
    assert (path, "releases/first.json does not name it, so nothing proves it") in found(released)


def test_a_file_beside_those_of_a_release_is_found(released: Mill) -> None:
    released.store.put(f"{FOLDER}/other.yaml", b"{}")
    assert found(released) == [(f"{FOLDER}/other.yaml", "releases/first.json does not name it, so nothing proves it")]


def test_a_release_without_its_data_card_is_told(released: Mill) -> None:
    cards = {f"{FOLDER}/{name}" for name in ("card.json", "card.md", "croissant.json")}
    release = read_pinned(released.store, "first")
    released.store.delete(sorted(cards))
    files = {each: digest for each, digest in release.files.items() if each not in cards}
    released.store.put(pinned_path("first"), as_json(msgspec.structs.replace(release, files=files).with_digest))
    assert found(released) == []
    assert released.said == ["releases/first.json: not proven: it has no data card"]


def test_a_file_of_the_tokenizer_that_the_release_does_not_name_is_found(released: Mill) -> None:
    """`gc` and `erase` ask the release what belongs to it."""
    release, path = read_pinned(released.store, "first"), "tokenizers/tiny-1/tokenizer_config.json"
    objects = {each: named for each, named in release.objects.items() if each != path}
    released.store.put(pinned_path("first"), as_json(msgspec.structs.replace(release, objects=objects).with_digest))
    assert found(released) == [("releases/first.json", f"it does not name {path}, which belongs to its data")]
