"""A weight may be given as 3 or as 3.0: what is made from either is proven, and what is changed by hand is found."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import energonlake
import pytest
from packedlake import indexes_of, make_caches, mix_of
from testkit import SHELVES, Mill

from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import compose_index, content_digest, read_index_ledger
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.releases.card import data_card
from gristmill.releases.card_files import card_files
from gristmill.releases.pinning import pinned_release, train_weights, trainer_files, trainer_reading, write_release
from gristmill.stages.export.release import release_path
from gristmill.verification.lake_file import release_findings

RELEASE = release_path(energonlake.INDEX)


def test_a_release_with_a_whole_weight_is_proven_and_due_no_more(tmp_path: Path) -> None:
    mix, declared = Mix(name="blend", streams=(Stream(source="pages", version="v0", weight=3),)), EnergonJsonl()
    mill = energonlake.start(tmp_path / "lake")
    energonlake.export(mill, declared, mix)
    energonlake.close(mill, declared, mix)
    assert b'"weights":{"pages":3}' in mill.store.read(RELEASE)
    assert energonlake.found(mill, f"{energonlake.INDEX}/ledger.json") == []
    assert energonlake.why(mill, declared, mix) == ()


@pytest.mark.parametrize(
    ("old", "new"), [(b'{"pages":3.0}', b'{"pages":3.0,"pages":3.0}'), (b',"schema":1', b',"more":1,"schema":1')]
)
def test_another_form_of_a_release_is_found(tmp_path: Path, old: bytes, new: bytes) -> None:
    declared = EnergonJsonl()
    mill = energonlake.start(tmp_path / "lake")
    energonlake.export(mill, declared)
    energonlake.close(mill, declared)
    ledger = read_index_ledger(mill.store, f"{energonlake.INDEX}/ledger.json")
    data = mill.store.read(RELEASE)
    assert ledger is not None
    assert old in data
    mill.store.put(RELEASE, data.replace(old, new))
    files = {**ledger.files, RELEASE: content_digest(data.replace(old, new), RELEASE, mill.store.url)}
    mill.store.put(f"{energonlake.INDEX}/ledger.json", as_json(compose_index(ledger.asset, ledger.inputs, files)))
    assert any(RELEASE in each for each in energonlake.found(mill, f"{energonlake.INDEX}/ledger.json"))


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"texts_weight": 3}, b'"weights": {\n      "texts": 3,'),
        ({"temperature": 1, "sequence_length": 8}, b'"temperature": 1,'),
    ],
)
def test_a_card_with_whole_numbers_is_proven(mill: Mill, options: dict[str, Any], shown: bytes) -> None:
    mix = mix_of("texts", "talks", draft=False, **options)
    make_caches(mill, mix, texts=[8] * 10, talks=[5] * 10)
    indexes_of(mill, mix).close(mill.store)
    release = pinned_release(mill.store, "first", "packed", "bytes-1")
    known, files = read_catalogue(SHELVES), trainer_files(mill.store, release)
    shelf = replace(known, mixes={**known.mixes, "packed": mix})
    weights, reading = train_weights(files, release), trainer_reading(mill.store, release)
    card = data_card(release, shelf, weights, reading)
    write_release(mill.store, release, {**files, **card_files(mill.store, release, card)})
    assert shown in mill.store.read("releases/first/card.json")
    assert list(release_findings(mill.store, mill.said.append)) == []
