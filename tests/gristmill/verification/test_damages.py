"""No damage hides another: of objects damaged at once in different assets, `verify --all` names each."""

from itertools import chain

import dedupelake
import pytest
import remarks
from corruptions import close_everything
from damages import DAMAGES, hidden, objects_by_kind
from testkit import Mill
from wholelake import make_whole

KINDS = {
    "documents", "attributes", "mix", "mix index", "tokenizer", "token cache", "token cache index",
    "consolidated copies", "packing plans", "export", "export index",
}  # fmt: skip
OTHERS = {
    "documents", "attributes", "fingerprints", "hash runs", "verdicts", "clusters", "marks", "resolution",
    "labelled set", "model",
}  # fmt: skip


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    mill = make_whole(tmp_path_factory.mktemp("everything") / "lake")
    close_everything(mill)
    return mill


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    """A lake with the kinds that dedupes and models make."""
    root = tmp_path_factory.mktemp("others") / "lake"
    root.mkdir()
    mill = Mill(root)
    page = " ".join(f"word{number}" for number in range(60))
    dedupelake.put(mill, "2024", "a", page, f"{page} more", "another text")
    dedupelake.put(mill, "2025", "b", page, "a third text")
    dedupelake.resolved(mill)
    remarks.run(mill, remarks.start(mill))
    return mill


def pairs(mill: Mill, damage: str) -> list[tuple[str, str]]:
    """Objects of each kind beside one of the next kind: for each damage others of them."""
    chosen = [paths[list(DAMAGES).index(damage) % len(paths)] for paths in objects_by_kind(mill).values()]
    if len(chosen) % 2:
        chosen.append(chosen[0])
    return list(zip(chosen[::2], chosen[1::2], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_two_damaged_objects_of_different_assets_are_both_named(everything: Mill, damage: str) -> None:
    assert objects_by_kind(everything).keys() == KINDS
    assert [
        wrong for pair in pairs(everything, damage) for wrong in hidden(everything, damage, pair, "testshelf")
    ] == []


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_so_are_those_of_dedupes_and_models(others: Mill, damage: str) -> None:
    assert objects_by_kind(others).keys() == OTHERS
    shelves = "gristmill,testshelf,dedupeshelf,remarkshelf"
    assert list(chain.from_iterable(hidden(others, damage, pair, shelves) for pair in pairs(others, damage))) == []


@pytest.mark.slow
def test_one_damaged_object_of_every_asset_is_named(everything: Mill) -> None:
    one_of_each = [paths[-1] for paths in objects_by_kind(everything).values()]
    for damage in DAMAGES:
        assert hidden(everything, damage, one_of_each, "testshelf") == []
