from testkit import SHELVES, Mill

from gristmill.lake.address import place
from gristmill.stages.mixing.unmade import mend_of_ledger, mends_by_recipe, unmade

CHARACTERS, CACHE = "sources/pages/v0/attributes/characters-1", "token_caches/even/tiny-1/pages"


def test_what_is_on_no_shelf_is_made_by_no_recipe(whole: Mill) -> None:
    """The shelves have no tokenizer. A set of v0 is made no more, since there is a v1 and no rule names it."""
    found = unmade(whole.store, SHELVES)
    assert found == {place(asset, "2024"): "" for asset in (CHARACTERS, CACHE)}
    assert [mend.partition(", so")[0] for mend in mends_by_recipe(found)] == [
        f"no recipe of --shelves makes {CHARACTERS}",
        f"no recipe of --shelves makes {CACHE}",
    ]


def test_the_mend_of_a_ledger_names_all_that_is_of_its_asset(whole: Mill) -> None:
    def deleted(path: str, *packages: str) -> str:
        return mend_of_ledger(whole.store, packages, path).partition("; or delete ")[2]

    documents, mix = "sources/pages/v0/ledgers/documents/2024.json", "mixes/even/ledgers/pages/2024.json"
    index = f"{CACHE.rpartition('/')[0]}/index"
    assert deleted(documents, *SHELVES) == deleted(mix, *SHELVES) == deleted(documents) == deleted(mix, "nobody") == ""
    whole_asset = "sources/pages/v0/documents/ sources/pages/v0/ledgers/documents/ sources/pages/v0/quarantine/"
    assert deleted(documents, "gristmill") == whole_asset
    assert deleted(f"{index}/ledger.json", *SHELVES) == f"{index}/"
    assert deleted("tokenizers/tiny-1/ledger.json", *SHELVES) == ""
