from dataclasses import replace

import msgspec
import pytest
from releasekit import release_of_whole, write_older
from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import TOKENIZER, even

from gristmill.errors import DataError
from gristmill.lake.ledger.index_ledger import content_digest
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.mix import Mix
from gristmill.releases.card import data_card
from gristmill.releases.card_files import card_files
from gristmill.releases.difference import release_differences
from gristmill.releases.pinned import PinnedRelease, read_pinned
from gristmill.releases.pinning import train_weights, trainer_files, trainer_reading, write_release
from gristmill.releases.training_difference import training_differences
from gristmill.stages.cache_index.index import index_cache


def written(mill: Mill, name: str, mix: Mix) -> PinnedRelease:
    """The release of the token cache, whose index is made for this mix first, with its data card."""
    index_cache(mill.store, mix, TOKENIZER, {"pages": mill.source()}, {"pages": [SNAPSHOT]})
    release = release_of_whole(mill, name)
    files = trainer_files(mill.store, release)
    catalogue = replace(shelf := read_catalogue(SHELVES), mixes={**shelf.mixes, "even": mix})
    card = data_card(release, catalogue, train_weights(files, release), trainer_reading(mill.store, release))
    write_release(mill.store, release, files | card_files(mill.store, release, card))
    return read_pinned(mill.store, name)


def test_what_training_reads_otherwise_is_told(whole: Mill) -> None:
    """The rows, the parts and their recipes are the same in all of them."""
    first = written(whole, "first", even())
    assert release_differences(whole.store, first, written(whole, "same", even())) == []
    block = written(whole, "block", replace(even(), block=1024))
    assert release_differences(whole.store, first, block) == ["training: mixture_block_size was 2048, is 1024"]
    half = written(whole, "half", replace(even(), token_budget=10))
    whole_budget = written(whole, "whole", replace(even(), token_budget=20))
    told = release_differences(whole.store, half, whole_budget)
    assert told[:2] == ["training: token_budget was 10, is 20", "training: reading.total was 10, is 20"]
    assert [line.partition(" was ")[0] for line in told[2:]] == ["training: stream pages.epochs"]
    assert "training: token_budget was absent, is 10" in release_differences(whole.store, first, half)


def test_a_stream_may_be_named_as_a_field_that_names_a_place(whole: Mill) -> None:
    """The places are those of two mixes; of the streams, all that is in the file is told."""

    def configured(name: str, weight: float) -> PinnedRelease:
        component = {"type": "cached", "cache_dir": f"file:///{name}"}
        streams = ("tokenizer", "cache_dir")
        config = {
            "tokenizer": f"file:///{name}",
            "cache_catalog": f"file:///{name}.json",
            "components": dict.fromkeys(streams, component),
            "train_weights": dict.fromkeys(streams, weight),
        }
        path, data = f"releases/{name}/data.yaml", msgspec.json.encode(config)
        whole.store.put(path, data)
        return msgspec.structs.replace(base, name=name, files={path: content_digest(data, path, whole.store.url)})

    base = written(whole, "first", even())
    lines = training_differences(whole.store, configured("one", 0.5), configured("two", 0.25))
    assert list(lines) == [f"training: train_weights.{name} was 0.5, is 0.25" for name in ("tokenizer", "cache_dir")]


def test_other_metadatasets_of_an_export_are_told(whole: Mill) -> None:
    first = written(whole, "first", even())
    folder = "exports/even/energon/index"
    one, other = (
        msgspec.structs.replace(
            first, name=name, objects={f"{folder}/metadataset-{digest}.yaml": ("", 0), f"{folder}/release-1/a": ("", 0)}
        )
        for name, digest in (("one", "1f"), ("other", "2f"))
    )
    one, other = (msgspec.structs.replace(each, files={}) for each in (one, other))
    assert release_differences(whole.store, one, other) == [
        f"{folder}/metadataset-1f.yaml: only in one",
        f"{folder}/metadataset-2f.yaml: only in other",
    ]


def test_an_edited_file_is_not_compared(whole: Mill) -> None:
    write_older(whole, release_of_whole(whole))
    first = read_pinned(whole.store, "first")
    path = whole.root / "releases/first/data.yaml"
    path.write_text(path.read_text().replace("2048", "1024"))
    with pytest.raises(DataError, match=r"releases/first/data\.yaml: is lost or edited; `gristmill release` with"):
        release_differences(whole.store, first, first)
