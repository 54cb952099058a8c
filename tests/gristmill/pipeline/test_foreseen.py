"""What recipes alone show is told by plan, and by make before it grinds anything."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from testkit import SHELVES, Mill

from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.execution.runner import Inline
from gristmill.lake.address import mix_asset
from gristmill.pipeline.foreseen import refused_without_packages
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.readers.files.html_files import HtmlFiles
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.web.pages import WarcPages
from gristmill.recipes.adopted.attribute_set import AdoptedSet
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits, MinHashUnits, SentenceUnits, Unit
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import FastTextTraining, Model
from gristmill.recipes.raw_rules import Folders
from gristmill.recipes.row_format import Chat
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger
from gristmill.recipes.tokenizer import Tokenizer, Training

V0 = "sources/pages/v0/documents"
PAGES = Stream(source="pages", version="v0")
BLEND = Mix(name="blend", streams=(PAGES,))
TINY = Tokenizer(name="tiny-1", training=Training(mix="blend", snapshots={"pages": ("2024",)}, vocabulary=300))
PACKED = Export(name="packed", mixes=("blend",), format=EnergonJsonl())
NO_LIST = (
    "blocklists/takedowns.jsonl: a selection names this blocklist, but the lake has none; put one there (it may be"
    " empty)"
)
REMARKS = LabelledSet(name="remarks", file="/no/such/file.jsonl", sha256="0" * 64, read=JsonLines(source="remarks"))
NO_EXTRA = "it needs the package no_such_module, which is not installed: `pip install 'gristmill[none]'`"
SHARES = (
    "the mix's proportions, temperature and repeats are shares of tokens, and the format of the export counts none;"
    " give it a tokenizer of the mix"
)


def recipes(**more: Any) -> Catalogue:
    """One source, with what a test adds."""
    pages = replace(read_catalogue(SHELVES).sources["pages"], revisions=())
    return Catalogue(**{"sources": {"pages": pages}, "taggers": {}, "mixes": {}, "tokenizers": {}, **more})


def needy() -> Tagger:
    return replace(read_catalogue(SHELVES).taggers["words-1"], needs={"no_such_module": "gristmill[none]"})


def chat(specials: Literal["tokens", "text"], template: str | None = "{{ messages }}") -> dict[str, Any]:
    told = replace(PAGES, format=Chat(messages_field="turns", chat_template=template))
    mix = Mix(name="blend", streams=(told,), tokenizers=("tiny-1",))
    return {"mixes": {"blend": mix}, "tokenizers": {"tiny-1": replace(TINY, specials=specials)}}


def adopting(root: str) -> dict[str, Any]:
    adopted = (AdoptedSet(name="quality", root=root, partition=Folders()),)
    return {"sources": {"pages": replace(recipes().sources["pages"], adopted=adopted)}}


def exported(mix: Mix, **options: Any) -> dict[str, Any]:
    return {"mixes": {"blend": mix}, "exports": {"packed": replace(PACKED, **options)}}


CASES: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "a blocklist": ({"mixes": {"blend": Mix(name="blend", streams=(replace(PAGES, blocklists=("takedowns",)),))}}, [
        (mix_asset("blend", "pages"), NO_LIST),
    ]),
    "an extra": ({"taggers": {"words-1": needy()}}, [("sources/pages/v0/attributes/words-1", NO_EXTRA)]),
    "proportions": (exported(replace(BLEND, proportions={"pages": 1.0})), [("exports/blend/packed/pages", SHARES)]),
    "media": (
        exported(BLEND, format=EnergonWebdataset(files={"jpg": "metadata.image"}, root="/no/such/folder")),
        [
            (
                "exports/blend/packed/pages",
                "/no/such/folder: the folder of the media is not there; mount its disk, or correct root",
            )
        ],
    ),
    "a chat without the assistant": (
        chat("tokens"),
        [("token_caches/blend/tiny-1/pages", "mix 'blend', stream 'pages': the chat template has no {% generation %}")],
    ),
    "a chat without a template": (
        chat("tokens", None),
        [("token_caches/blend/tiny-1/pages", "mix 'blend', stream 'pages': no chat template: neither its format has")],
    ),
    "an adopted set": (
        adopting("/no/such/folder"),
        [("sources/pages/v0/attributes/quality", "/no/such/folder: the root of set 'quality' is not there: mount its")],
    ),
    "a labelled set": (
        {"labels": {"remarks": REMARKS}},
        [("labels/remarks", "labelled set 'remarks': no file /no/such/file.jsonl; mend file= of the recipe")],
    ),
    "a chat of plain text": (
        chat("text"),
        [("token_caches/blend/tiny-1/pages", "mix 'blend', stream 'pages': tokenizer tiny-1 encodes special strings")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_recipes_show_is_refused_by_plan_and_told_by_make_before_it_grinds(mill: Mill, case: str) -> None:
    more, expected = CASES[case]
    mill.raw_shards(1)
    catalogue = recipes(**more)
    states = {each.asset: each for each in Planner(catalogue, SHELVES, mill.lake).survey_all()}
    assert states[V0].state == "make"
    for asset, why in expected:
        assert states[asset].state == "refused"
        assert states[asset].why[0].startswith(why)
    maker = Maker(Planner(catalogue, SHELVES, mill.lake), mill.lake, Inline(), mill.said.append)
    made = [ledger.asset for ledger in maker.run()]
    ground = next(number for number, line in enumerate(mill.said) if line.startswith(f"{V0} (2024): never made"))
    for asset, why in expected:
        assert any(line.startswith(f"refused {asset}: {why}") for line in mill.said[:ground])
        assert asset in {each.prospect.asset for each in maker.not_made}
    assert V0 in made  # what does not depend on it is made


def test_a_tar_that_a_prepared_folder_does_not_name_is_told(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.store.put("media/tars/.nv-meta/.info.json", b'{"shard_counts": {"a.tar": 1}}')
    mill.store.put("media/tars/a.tar", b"")
    catalogue = recipes(**exported(BLEND, format=EnergonJsonl(media=("metadata.image",), root="media/tars")))
    packed = "exports/blend/packed/pages"
    states = {each.asset: each.state for each in Planner(catalogue, SHELVES, mill.lake).survey_all()}
    assert states[packed] == "follow"
    mill.store.put("media/tars/b.tar", b"")
    states = {each.asset: each.state for each in Planner(catalogue, SHELVES, mill.lake).survey_all()}
    assert (states[V0], states[packed]) == ("make", "refused")
    maker = Maker(Planner(catalogue, SHELVES, mill.lake), mill.lake, Inline(), mill.said.append)
    list(maker.run())
    assert mill.said[0].startswith(
        f"refused {packed}: media/tars: media/tars/b.tar came after the dataset was prepared"
    )


def test_what_lacks_a_package_is_told_and_all_else_is_made(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    mill.raw_shards(1)
    mill.store.put("sources/web/raw/2024/a.html", b"<p>Rye")
    web = Source(name="web", convert=HtmlFiles(source="web"), select=r"\.html$")
    rude = Model(name="rude-1", training=FastTextTraining(labels="remarks", positive="toxic"))
    media = Export(name="packed", mixes=("blend",), format=EnergonWebdataset(media_metadata="header"))
    more: dict[str, Any] = {
        "labels": {"remarks": REMARKS},
        "models": {"rude-1": rude},
        "mixes": {"blend": BLEND},
        "exports": {"packed": media},
    }
    catalogue = recipes(sources={**recipes().sources, "web": web}, **more)
    assert list(refused_without_packages(catalogue)) == []
    for package in ("resiliparse", "fasttext", "av"):
        monkeypatch.setitem(sys.modules, package, None)
    told = [
        ("sources/web/v0/documents", "resiliparse", "web"),
        ("exports/blend/packed/pages", "av", "energon"),
        ("models/rude-1", "fasttext", "models"),
    ]
    assert list(refused_without_packages(catalogue)) == [
        (asset, f"it needs the package {package}, which is not installed: `pip install 'gristmill[{extra}]'`")
        for asset, package, extra in told
    ]
    planner = Planner(catalogue, SHELVES, mill.lake)
    refused = {each.asset for each in planner.survey_all() if each.state == "refused"}
    assert refused == {"labels/remarks", *(asset for asset, _, _ in told)}  # the file of the labels is not there
    made = [ledger.asset for ledger in Maker(planner, mill.lake, Inline(), mill.said.append).run()]
    assert made[0] == V0


def test_an_extractor_of_another_version_is_told(mill: Mill) -> None:
    mill.raw_shards(1)
    catalogue = recipes()
    pages = replace(catalogue.sources["pages"], convert=WarcPages(source="pages", extractor_version="1.0"))
    planner = Planner(recipes(sources={"pages": pages}), SHELVES, mill.lake)
    (found,) = planner.survey_all()
    assert (found.asset, found.state) == (V0, "refused")
    assert "the recipe asks for resiliparse 1.0, and" in found.why[0]


def test_a_tokenizer_whose_file_is_missing_is_told_before_the_documents_are_made(mill: Mill, tmp_path: Path) -> None:
    mill.raw_shards(1)
    brought = Tokenizer(name="brought-1", file=str(tmp_path / "tokenizer.json"), sha256="0" * 64)
    mix = Mix(name="blend", streams=(PAGES,), tokenizers=("brought-1",))
    planner = Planner(recipes(mixes={"blend": mix}, tokenizers={"brought-1": brought}), SHELVES, mill.lake)
    maker = Maker(planner, mill.lake, Inline(), mill.said.append)
    next(iter(maker.run()))
    assert mill.said[0].startswith("refused tokenizers/brought-1: ")


def test_what_is_made_already_is_not_refused_where_an_extra_is_missing(mill: Mill) -> None:
    mill.raw_shards(1)
    catalogue = recipes(taggers={"words-1": replace(needy(), needs={})})
    list(Maker(Planner(catalogue, SHELVES, mill.lake), mill.lake, Inline(), mill.said.append).run())
    said = len(mill.said)
    elsewhere = Planner(recipes(taggers={"words-1": needy()}), SHELVES, mill.lake)
    assert [each.state for each in elsewhere.survey_all()] == ["finished", "finished"]
    maker = Maker(elsewhere, mill.lake, Inline(), mill.said.append)
    assert (list(maker.run()), maker.not_made, mill.said[said:]) == ([], [], [])


def test_a_dedupe_recipe_that_is_not_made_and_names_no_rule_is_told(mill: Mill) -> None:
    units: dict[str, Unit] = {
        "one-1": SentenceUnits(),
        "two-1": SentenceUnits(rule=2),
        "near-1": MinHashUnits(),
        "all-1": DocumentUnits(),
    }
    dedupes = {name: Dedupe(name=name, unit=unit, sources=("pages/v0",)) for name, unit in units.items()}
    catalogue = recipes(dedupes=dedupes)
    told = [
        "dedupe one-1: write SentenceUnits(rule=2) before it is made; the first rule is kept for finished sets",
        "dedupe near-1: write MinHashUnits(verification=2) before it is made; the first rule is kept for finished sets",
    ]
    assert [each for each in Planner(catalogue, SHELVES, mill.lake).notes if "rule" in each] == told
    mill.store.put("dedupe/one-1/order.json", b"{}")
    assert [each for each in Planner(catalogue, SHELVES, mill.lake).notes if "rule" in each] == told[1:]
