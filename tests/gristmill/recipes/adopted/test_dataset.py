from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.adopted.dataset import Adopted, adopted_folder
from gristmill.recipes.adopted.raw_root import RawRoot
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.raw_rules import Folders
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.source import Revision
from gristmill.recipes.tagger import Tagger

DOLMA = Adopted(name="dolma", root="/data/dolma", sets=("pii", "tox_v2"))


def catalogue(source: Adopted, *taggers: Tagger, sets: str = "") -> Catalogue:
    columns = (score(f"{sets}__x"),) if sets else ()
    rules = (Rule("r", f"{columns[0].name} > 0", "a reason"),) if columns else ()
    mix = Mix(name="blend", streams=(Stream(source=source.name, version="v0", columns=columns, include=rules),))
    return Catalogue({source.name: source}, {t.name: t for t in taggers}, {mix.name: mix}, {})


def test_a_root_is_one_version_or_has_a_folder_for_each() -> None:
    assert (DOLMA.adopts, DOLMA.versions, DOLMA.raw_url) == (("v0",), ("v0",), "/data/dolma")
    side = Adopted(name="s2", root="s3://a/s2/", folders=("v10", "v1", "v1_6"), revisions=(Revision(version="v11"),))
    assert side.versions == ("v1", "v1_6", "v10", "v11")
    assert adopted_folder(side, "v1_6").files.raw == "s3://a/s2/v1_6/documents"
    assert adopted_folder(side, "v1_6").lead == "v1_6/documents/"


def test_files_of_the_layout_with_rows_are_read_and_no_others() -> None:
    read = [
        "documents/a.jsonl.gz",
        "documents/lang=en/b.json.gz",
        "attributes/pii/a.jsonl.gz",
        "attributes/other/a.jsonl.gz",
        "documents/README.md",
        "documents/.hidden.jsonl",
        "raw/a.jsonl.gz",
    ]
    assert [DOLMA.wants(name) for name in read] == [True] * 3 + [False] * 4
    by_folder = Adopted(name="d", root="/d", partition=Folders(), folders=("v0",), sets={"v0": ("pii",)})
    assert by_folder.partition.split("v0/attributes/pii/2024/a.jsonl") == ("2024", "v0/attributes/pii/2024/a.jsonl")
    assert by_folder.partition.split("v0/documents/a.jsonl") == ("all", "v0/documents/a.jsonl")
    assert by_folder.partition.split("v2/documents/a.jsonl") is None


def test_a_raw_root_keeps_its_options_below() -> None:
    root = RawRoot("s3://theirs/dolma", endpoint="https://minio.example.org", credentials="THEIRS")
    files = adopted_folder(Adopted(name="d", root=root, sets=("pii",)), "v0", "pii").files
    assert files.raw == RawRoot("s3://theirs/dolma/attributes/pii", endpoint=root.endpoint, credentials="THEIRS")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"root": ""}, "root is empty"),
        ({"folders": ("old",)}, "give names of versions, such as v0, v1 or v1_6"),
        ({"select": "a"}, "takes no select, shards and raw"),
        ({"sets": {"v3": ("pii",)}}, "the adopted set 'pii' is of 'v3'; known: v0"),
        ({"sets": ("PII",)}, "adopted set 'PII': a name is"),
        ({"revisions": (Revision(version="v3"),)}, "revisions are v3; name them v1"),
    ],
)
def test_an_option_that_is_not_valid_is_told(options: dict[str, Any], told: str) -> None:
    with pytest.raises(RecipeError, match=told):
        Adopted(**{"name": "dolma", "root": "/data", **options})


def test_what_is_not_adopted_has_no_folder() -> None:
    for version, name in (("v0", "other"), ("v1", "")):
        with pytest.raises(RecipeError, match=f"{version} adopts no {name or 'documents'}"):
            adopted_folder(DOLMA, version, name)


def test_rules_may_name_adopted_sets_and_no_unknown_ones() -> None:
    assert catalogue(DOLMA, sets="pii").attribute_sets_of_version(DOLMA, "v0") == ["pii", "tox_v2"]
    with pytest.raises(RecipeError, match="names the attribute set 'pij', which is on no shelf; known: pii, tox_v2"):
        catalogue(DOLMA, sets="pij")


def test_names_that_differ_only_by_their_joints_are_refused() -> None:
    twins = Adopted(name="dolma", root="/data", sets=("a-b", "a_b"))
    with pytest.raises(RecipeError, match="the adopted set 'a_b' and the adopted set 'a-b' must differ"):
        catalogue(twins)
    tagger = Tagger(name="loud-1", document=lambda _: {})
    with pytest.raises(RecipeError, match="the adopted set 'loud_1' and a tagger's 'loud-1' must differ"):
        catalogue(Adopted(name="dolma", root="/data", sets=("loud_1",)), tagger)
