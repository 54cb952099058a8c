from dataclasses import replace

import pytest
from testkit import SHELVES, Mill, make_documents

from gristmill.errors import RecipeError
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import read_targets
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.source import RawRoot
from gristmill.recipes.tokenizer import Tokenizer, Training

MIXED = "mixes/pages/documents/pages"
TINY = Tokenizer(name="tiny-1", training=Training(mix="pages", snapshots={"pages": ("2024",)}, vocabulary=300))
SPARE = replace(TINY, name="spare-1")
PAGES = Mix(name="pages", streams=(Stream(source="pages", version="v0"),), tokenizers=("tiny-1",))
"""A mix of the name of a source."""


@pytest.fixture
def catalogue() -> Catalogue:
    known = read_catalogue(SHELVES)
    sources = {"pages": replace(known.sources["pages"], revisions=())}
    taggers = {"words-1": known.taggers["words-1"]}
    return Catalogue(sources, taggers, {"pages": PAGES}, {"tiny-1": TINY, "spare-1": SPARE})


def planned(mill: Mill, catalogue: Catalogue, *words: str, snapshots: tuple[str, ...] = ()) -> dict[str, str]:
    """The state of each partition that is shown."""
    planner = Planner(catalogue, SHELVES, mill.lake, read_targets(catalogue, words, snapshots))
    return {f"{each.asset} {each.snapshot}".rstrip(): each.state for each in planner.survey_all()}


def test_a_name_that_a_source_and_a_mix_have_needs_its_kind(mill: Mill, catalogue: Catalogue) -> None:
    with pytest.raises(RecipeError, match="'pages' is both a source and a mix: write sources/pages or mixes/pages"):
        planned(mill, catalogue, "pages")


def test_inputs_that_are_due_are_shown_and_finished_ones_are_not(mill: Mill, catalogue: Catalogue) -> None:
    mill.raw_shards(1)
    v0, words = "sources/pages/v0/documents 2024", "sources/pages/v0/attributes/words-1 2024"
    assert planned(mill, catalogue, "words-1") == {v0: "make", words: "follow"}
    mill.convert()
    assert planned(mill, catalogue, "words-1") == {words: "make"}
    assert planned(mill, catalogue, "mixes/pages/documents") == {f"{MIXED} 2024": "make"}


def test_a_tokenizer_that_no_mix_uses_waits_unless_it_is_named(mill: Mill, catalogue: Catalogue) -> None:
    mill.raw_shards(1)
    everything = planned(mill, catalogue)
    assert (everything["tokenizers/tiny-1"], everything["tokenizers/spare-1"]) == ("follow", "wait")
    assert planned(mill, catalogue, "spare-1") == {
        "sources/pages/v0/documents 2024": "make",
        f"{MIXED} 2024": "follow",
        "tokenizers/spare-1": "follow",
    }
    assert "tokenizers/spare-1" not in planned(mill, catalogue, "mixes/pages")


def test_an_index_whose_slices_are_all_refused_says_so(mill: Mill, catalogue: Catalogue) -> None:
    mill.raw_shards(1)
    mill.convert()
    missing = replace(PAGES, streams=(Stream(source="pages", version="v0", blocklists=("nowhere",)),))
    planner = Planner(replace(catalogue, mixes={"pages": missing}), SHELVES, mill.lake)
    found = {each.asset: each for each in planner.survey_all()}
    assert found[MIXED].state == "refused"
    assert (found["mixes/pages/index"].state, found["mixes/pages/index"].why) == (
        "wait",
        (f"for {MIXED} (2024), which is refused",),
    )
    assert found["tokenizers/tiny-1"].why == ("never made", f"for {MIXED} (2024), to train it on")


def test_a_snapshot_that_no_source_of_the_targets_has_is_an_error(mill: Mill, catalogue: Catalogue) -> None:
    mill.raw_shards(1)
    mill.raw("a.jsonl.gz", make_documents(1), snapshot="2025")
    for word in ("mixes/pages", "sources/pages"):
        with pytest.raises(RecipeError, match=r"snapshot '2052': no source has .* there are pages: 2024, 2025"):
            planned(mill, catalogue, word, snapshots=("2025", "2052"))


def test_a_lake_with_nothing_of_the_targets_is_an_error(mill: Mill, catalogue: Catalogue) -> None:
    planner = Planner(catalogue, SHELVES, mill.lake)
    with pytest.raises(RecipeError, match=r"neither raw data nor ledgers of pages; put raw data under "):
        planner.check_something()
    mill.raw_shards(1)
    Planner(catalogue, SHELVES, mill.lake).check_something()


def test_a_source_none_of_whose_files_is_selected_is_an_error_that_names_select(
    mill: Mill, catalogue: Catalogue
) -> None:
    mill.store.put("sources/pages/raw/2024/a.rst", b"")
    pages = replace(catalogue.sources["pages"], select="jsonl")
    planner = Planner(replace(catalogue, sources={"pages": pages}), SHELVES, mill.lake)
    with pytest.raises(RecipeError, match=r"^sources/pages/raw/: 1 file that select does not match \(\.rst: 1\)"):
        planner.check_something()


def test_remarks_on_raw_data_and_the_lake_are_told_and_change_no_state(mill: Mill, catalogue: Catalogue) -> None:
    mill.raw_shards(1)
    mill.store.put("sources/pages/raw/loose.md", b"")
    mill.store.put("sources/pagse/raw/2024/a.jsonl", b"")
    planner = Planner(catalogue, SHELVES, mill.lake)
    loose, folder = planner.remarks
    assert loose.startswith("sources/pages/raw/: 1 file, 'loose.md': not read, because in no snapshot; move them into")
    assert folder.startswith("sources/pagse/ is on the lake, but no source 'pagse' is on the shelves (near: pages)")
    assert planner.strays == []


@pytest.mark.parametrize(("share", "told"), [(0.999999, 1), (0.51, 1), (0.5, 0), (0.01, 0)])
def test_a_mix_that_holds_out_most_documents_is_remarked(
    mill: Mill, catalogue: Catalogue, share: float, told: int
) -> None:
    mill.raw_shards(1)
    mixes = {"pages": replace(PAGES, validation=share)}
    planner = Planner(replace(catalogue, mixes=mixes), SHELVES, mill.lake)
    said = f"mix pages holds out most documents: validation is {share}, the share that training does not read"
    assert planner.remarks == [said] * told


def test_a_source_whose_raw_data_cannot_be_reached_does_not_stop_the_others(mill: Mill, catalogue: Catalogue) -> None:
    secret = replace(catalogue.sources["pages"], raw=RawRoot("s3://corpus/texts", credentials="NOBODY"))
    planner = Planner(replace(catalogue, sources={"pages": secret}, mixes={}, tokenizers={}), SHELVES, mill.lake)
    (wrong,) = planner.unlisted
    assert wrong.state == "wrong"
    assert "neither NOBODY_AWS_ACCESS_KEY_ID nor NOBODY_ACCESS_KEY_ID" in wrong.why[0]
