import re
from dataclasses import replace
from pathlib import Path

import pytest
from dagster_kit import SHELVES

from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.energon.recipes.watched_folder import WatchedFolder
from gristmill.errors import RecipeError
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.code.digest import code_of
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Column, Rule, field, score, spans
from gristmill.recipes.shelf import read_shelf
from gristmill.recipes.source import Revision
from gristmill.recipes.tagger import Spans, Tagger
from gristmill.recipes.tokenizer import Tokenizer, Training

KIT = read_catalogue(SHELVES)


def _mix(**changed: str) -> dict[str, Mix]:
    return {"odd": Mix(name="odd", streams=(Stream(**{"source": "letters", "version": "v1", **changed}),))}  # type: ignore[arg-type]  # strings only


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"source": "lettres"},
            "names the source 'lettres', which is on no shelf; did you mean 'letters'? known: letters, diary",
        ),
        ({"version": "v2"}, "names the version 'v2', which is on no shelf; known: v0, v1"),
    ],
)
def test_a_mix_of_what_is_not_there_is_refused_with_what_is(changed: dict[str, str], words: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(words)):
        Catalogue(KIT.sources, KIT.taggers, _mix(**changed), {})


def test_a_rule_on_a_set_that_nobody_makes_is_refused() -> None:
    stream = Stream(
        source="letters",
        version="v1",
        columns=(score("cuont-1__words", "words"),),
        exclude=(Rule("short", "words < 2", "one word says nothing"),),
    )
    words = "names the tagger 'cuont-1', which is on no shelf; did you mean 'count-1'? known: count-1, moody-1"
    with pytest.raises(RecipeError, match=re.escape(words)):
        Catalogue(KIT.sources, KIT.taggers, {"odd": Mix(name="odd", streams=(stream,))}, {})


def test_a_tokenizer_of_a_mix_or_stream_that_is_not_there_is_refused() -> None:
    for training, words in (
        (
            Training(mix="bland", snapshots={}),
            "names the mix 'bland', which is on no shelf; did you mean 'blend'? known: blend",
        ),
        (Training(mix="blend", snapshots={"novels": ("1",)}), "mix 'blend' has no stream 'novels'; known: letters"),
    ):
        odd = {"odd-1": Tokenizer(name="odd-1", training=training)}
        with pytest.raises(RecipeError, match=re.escape(words)):
            Catalogue(KIT.sources, KIT.taggers, KIT.mixes, {**KIT.tokenizers, **odd})
    mixes = {"blend": replace(KIT.mixes["blend"], tokenizers=("odd-1",))}
    with pytest.raises(RecipeError, match="names the tokenizer 'odd-1', which is on no shelf; known: tiny-1"):
        Catalogue(KIT.sources, KIT.taggers, mixes, KIT.tokenizers)


def reading(*columns: Column, source: str = "letters", version: str = "v1") -> Catalogue:
    stream = Stream(source=source, version=version, columns=columns)
    return Catalogue(KIT.sources, KIT.taggers, {"odd": Mix(name="odd", streams=(stream,))}, {})


def test_a_label_that_no_tagger_declares_is_refused_with_the_near_ones() -> None:
    words = (
        "mix 'odd', stream 'letters', column 'n': tagger 'count-1' declares no label 'wrods'; did you mean 'words'?"
        " known: words"
    )
    with pytest.raises(RecipeError, match=re.escape(words)):
        reading(score("count-1__wrods", "n"))
    revision = Revision(version="v2", columns=(score("count-1__word"),))
    letters = replace(KIT.sources["letters"], revisions=(*KIT.sources["letters"].revisions, revision))
    with pytest.raises(RecipeError, match=r"source 'letters', v2, column .* declares no label 'word'; did you mean"):
        Catalogue({**KIT.sources, "letters": letters}, KIT.taggers, {}, {})


def test_spans_are_not_read_as_one_score_but_a_score_may_be_read_as_spans() -> None:
    assert reading(score("count-1__words")).mixes["odd"].streams[0].sets == ("count-1",)
    assert reading(spans("count-1__words")).mixes["odd"].streams[0].sets == ("count-1",)
    taggers = {**KIT.taggers, "count-1": replace(KIT.taggers["count-1"], labels=(Spans("words", "each word"),))}
    with pytest.raises(RecipeError, match=r"count-1__words is declared as Spans; read it by spans\('count-1__words'\)"):
        Catalogue(KIT.sources, taggers, reading(score("count-1__words")).mixes, {})


def test_an_edit_by_a_score_is_refused_since_it_would_empty_every_text() -> None:
    edited = Stream(source="letters", version="v1", edits=(Edit(spans="count-1__words", replacement=""),))
    mixes = {"odd": Mix(name="odd", streams=(edited,))}
    with pytest.raises(RecipeError, match="an edit names 'count-1__words', which is a score of the whole document"):
        Catalogue(KIT.sources, KIT.taggers, mixes, {})


def test_what_a_tagger_without_a_declaration_gives_is_not_known_and_is_noted() -> None:
    taggers = {**KIT.taggers, "count-1": replace(KIT.taggers["count-1"], labels=None)}
    catalogue = Catalogue(KIT.sources, taggers, {**KIT.mixes, **reading(score("moody-1__calm")).mixes}, KIT.tokenizers)
    assert catalogue.notes == [
        "tagger count-1 declares no labels, so rules that name them are not checked: give it labels=",
        "mix odd names no tokenizers, so its documents are not tokenized: give it tokenizers=('tiny-1',) or 'all'",
    ]
    assert Catalogue(KIT.sources, taggers, {}, {}).notes == catalogue.notes[:1]
    assert KIT.notes == []


def test_a_tagger_of_a_source_that_is_on_no_shelf_is_refused() -> None:
    taggers = {**KIT.taggers, "count-1": replace(KIT.taggers["count-1"], only=frozenset({"letters", "dairy"}))}
    words = "tagger 'count-1' (only=) names the source 'dairy', which is on no shelf; did you mean 'diary'?"
    with pytest.raises(RecipeError, match=re.escape(words)):
        Catalogue(KIT.sources, taggers, {}, {})


def test_a_rule_on_a_set_that_the_source_does_not_have_is_refused() -> None:
    words = "mix 'odd', stream 'diary': tagger 'moody-1' does not tag diary; add it to the tagger's only="
    with pytest.raises(RecipeError, match=re.escape(words)):
        reading(score("moody-1__calm"), source="diary", version="v0")


def test_a_mix_has_the_tokenizers_that_it_names_or_none_or_all() -> None:
    tiny = KIT.tokenizers["tiny-1"]
    catalogue = replace(KIT, tokenizers={"tiny-1": tiny, "tiny-2": replace(tiny, name="tiny-2")})
    blend = KIT.mixes["blend"]
    named = [
        [tokenizer.name for tokenizer in catalogue.tokenizers_of_mix(replace(blend, tokenizers=tokenizers))]
        for tokenizers in ((), ("tiny-2",), "all")
    ]
    assert named == [[], ["tiny-2"], ["tiny-1", "tiny-2"]]
    with pytest.raises(
        RecipeError, match=re.escape("tokenizers is 'tiny-1'; give a tuple of names, such as ('tiny-1',)")
    ):
        replace(blend, tokenizers="tiny-1")  # type: ignore[arg-type]  # what somebody may write


def test_two_watched_folders_cannot_have_one_path() -> None:
    folders = [WatchedFolder(name=name, path=path) for name, path in (("one", "/data/tars"), ("two", "/data/tars/"))]
    with pytest.raises(RecipeError, match=r"'one' and 'two' have the same path '/data/tars/'.*remove one of them"):
        Catalogue({}, {}, {}, {}, watched_folders={each.name: each for each in folders})


@pytest.mark.parametrize(
    ("declared", "held_out", "words"),
    [
        (
            EnergonWebdataset(split_ratios={"train": 9, "val": 1}),
            0.1,
            "mix 'held' holds documents out (validation=0.1)",
        ),
        (EnergonWebdataset(tokenizer="odd-1"), 0.0, "counts tokens of 'odd-1', which does not tokenize the mix 'held'"),
    ],
)
def test_an_export_that_its_mix_does_not_allow_is_refused(
    declared: EnergonWebdataset, held_out: float, words: str
) -> None:
    mix = Mix(name="held", streams=(Stream(source="letters", version="v1"),), validation=held_out)
    exports = {"tars": Export(name="tars", mixes=("held",), format=declared)}
    with pytest.raises(RecipeError, match=re.escape(words)):
        Catalogue(KIT.sources, KIT.taggers, {"held": mix}, {}, exports=exports)


ODD = """
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, field
from gristmill.recipes.source import Revision, Source
SHORT = {"columns": (field("id"),), "exclude": (Rule("short", "words < 5", "stubs"),)}
"""


@pytest.mark.parametrize(
    ("kind", "recipe", "who"),
    [
        (
            "mixes",
            "ODD = Mix(name='odd', streams=(Stream(source='letters', version='v1', **SHORT),))",
            "mix 'odd', stream 'letters'",
        ),
        (
            "sources",
            "ODD = Source(name='odd', convert=DolmaLines('odd'), revisions=(Revision(version='v1', **SHORT),))",
            "source 'odd', v1",
        ),
    ],
)
def test_recipes_that_were_compared_are_checked_before_they_are_run(
    kind: str, recipe: str, who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python runs a module once: one that a proof has imported is not checked by importing it again."""
    shelf = tmp_path / f"odd_{kind}" / kind
    shelf.mkdir(parents=True)
    (shelf / "odd.py").write_text(ODD + recipe)
    monkeypatch.syspath_prepend(str(tmp_path))
    shelves = (*SHELVES, f"odd_{kind}")
    assert "odd" in getattr(read_catalogue(shelves, checked=False), kind)
    complaint = "rule 'short': no column 'words' (in: words < 5); columns: id"
    for _ in range(2):
        with pytest.raises(RecipeError, match=re.escape(f"{who}: {complaint}")):
            read_catalogue(shelves)
    with pytest.raises(RecipeError, match=re.escape(complaint)):
        replace(KIT.mixes["blend"].streams[0], columns=(field("id"),), include=(Rule("short", "words < 5", "stubs"),))


def test_a_recipe_of_two_packages_has_the_code_of_the_one_that_was_asked_for_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package declares a tagger of gristmill again. Another catalogue of the process changes no digest."""
    shelf = tmp_path / "lengthshelf" / "taggers"
    shelf.mkdir(parents=True)
    for folder in (shelf, shelf.parent):
        (folder / "__init__.py").touch()
    (shelf / "length.py").write_text("from gristmill.taggers.length import LENGTH\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    code = code_of(read_catalogue(("lengthshelf",)).taggers["length-1"])
    assert code.module == "lengthshelf.taggers.length"
    assert code_of(read_shelf("taggers", Tagger)["length-1"]).module == "gristmill.taggers.length"
    assert code_of(read_catalogue(("lengthshelf",)).taggers["length-1"]) == code
    assert code_of(read_catalogue(("lengthshelf",), checked=False).taggers["length-1"]) == code
