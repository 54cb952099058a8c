from releasekit import write_whole
from testkit import SHELVES, Mill

from gristmill.lake.address import place
from gristmill.lake.ledger.folders.pinned_upload import objects_by_release
from gristmill.stages.mixing.unmade import mend_of_ledger, mend_of_unmade, mends_by_recipe, unmade

CHARACTERS, CACHE = "sources/pages/v0/attributes/characters-1", "token_caches/even/tiny-1/pages"


def test_what_is_on_no_shelf_is_made_by_no_recipe(whole: Mill) -> None:
    """The shelves have no tokenizer. A set of v0 is made no more, since there is a v1 and no rule names it."""
    found = unmade(whole.store, SHELVES)
    assert found == {place(asset, "2024"): "" for asset in (CHARACTERS, CACHE)}
    assert [mend.partition(", so")[0] for mend in mends_by_recipe(found, {})] == [
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


def test_the_mend_names_the_releases_that_name_objects_there_and_a_damaged_one_may(whole: Mill) -> None:
    def mends() -> list[str]:
        found = unmade(whole.store, SHELVES)
        return [mend.partition("make it; or ")[2] for mend in mends_by_recipe(found, objects_by_release(whole.store))]

    def mend(release: str) -> str:
        return f"withdraw the releases that name its objects ({release}), then delete "

    characters, cache = (f"{each}/" for each in (CHARACTERS, CACHE))
    assert [each.partition(characters)[0].partition(cache)[0] for each in mends()] == ["delete ", "delete "]
    write_whole(whole)
    assert [each.partition(characters)[0].partition(cache)[0] for each in mends()] == [
        "delete ",
        mend("gristmill erase --release first"),
    ]
    whole.store.put("releases/other.json", b"torn")
    assert [each.partition(characters)[0].partition(cache)[0] for each in mends()] == [
        mend("gristmill erase --release other"),
        mend("gristmill erase --release first, gristmill erase --release other"),
    ]
    ledger = f"{CACHE.rpartition('/')[0]}/ledgers/pages/2024.json"
    assert mend_of_ledger(whole.store, SHELVES, ledger).partition("make it; or ")[2] == mends()[1]


def test_a_former_slice_is_pinned_by_the_releases_of_its_snapshot() -> None:
    former, stream = place("token_caches/m/t-1/web", "2023"), "sources/new/v0/documents"
    named = {year: f"token_caches/m/t-1/web/train/{year}/part-00000-0123/x" for year in (2023, 2024)}
    releases = {"old": [named[2023]], "new": [named[2024]]}
    mend = mend_of_unmade({former: stream}, releases)
    assert "; withdraw the releases that name its objects (gristmill erase --release old), then delete token" in mend
