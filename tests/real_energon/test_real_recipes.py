"""Real Energon loads an export of each sample type, made by a recipe: every element is what the document has."""

import json
from typing import Any, NamedTuple

import pytest
from energonsets import SETS, SmallSet
from peer import Ask
from seaweed import Seaweed
from setlake import LINES, WORDS, documents, expected, files, make, name_of, release_folder
from testkit import Mill

pytestmark = pytest.mark.slow
SAMPLED = ("crude", "captioningsample", "vidqasample")
"""The exports that CI also reads from S3."""
IN_FOLDER = [pytest.param("folder", small, id=f"folder-{name_of(small)}") for small in SETS]
ON_S3 = [
    pytest.param(
        "bucket",
        small,
        id=f"bucket-{name_of(small)}",
        marks=() if name_of(small) in SAMPLED else pytest.mark.exhaustive,
    )
    for small in SETS
]


class Lake(NamedTuple):
    """A lake with all exports, the address by which Energon knows it, and the client to ask."""

    mill: Mill
    address: str
    ask: Ask

    def entry(self, export: str) -> str:
        """What Energon is given."""
        return f"{self.address}/exports/blend/{export}/index/metadataset.yaml"


@pytest.fixture(scope="module")
def folder(energon: Ask, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    root = tmp_path_factory.mktemp("sets") / "lake"
    root.mkdir()
    mill = Mill(root)
    make(mill)
    return Lake(mill, str(root), energon)


@pytest.fixture(scope="module")
def bucket(energon_on_s3: Ask, seaweed: Seaweed, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    mill = Mill(tmp_path_factory.mktemp("sets"), seaweed.url("recipes"), seaweed.options)
    make(mill)
    return Lake(mill, "msc://lake/recipes", energon_on_s3)


@pytest.fixture
def lake(request: pytest.FixtureRequest, place: str) -> Lake:
    found: Lake = request.getfixturevalue(place)
    return found


def load(lake: Lake, export: str, cooker: str, members: list[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The samples of both splits, in order and restored the last first, and as they are drawn; and parts by name."""
    job = {"do": "load", "path": lake.entry(export), "cooker": cooker}
    release = f"{lake.address}/{release_folder(lake.mill, export)}"
    train, val, drawn, named = lake.ask(
        job,
        {**job, "split": "val"},
        {**job, "training": True},
        {"do": "files", "path": release, "names": members},
    )
    for found in (train, val, drawn):
        assert "error" not in found, found["error"]
        assert found["samples"]
        assert found["restored"] == found["samples"][::-1]
    assert sorted(map(str, drawn["samples"])) == sorted(map(str, train["samples"]))
    return [*train["samples"], *val["samples"]], named


@pytest.mark.parametrize(("place", "small"), [*IN_FOLDER, *ON_S3])
def test_an_export_of_each_sample_type(lake: Lake, small: SmallSet) -> None:
    members = files(small)
    samples, named = load(lake, name_of(small), small.cooker, list(members))
    assert {sample["__key__"]: sample for sample in samples} == expected(small)
    assert len(samples) == 5
    assert set(samples[0]["__subflavors__"].values()) == {"pages", *WORDS.values()}
    found = {name: bytes.fromhex(each["bytes"]) for name, each in zip(members, named["files"], strict=True)}
    for name, content in members.items():
        if name.endswith("json"):
            assert json.loads(found[name]) == json.loads(content)
        else:
            assert found[name] == content


@pytest.mark.parametrize("place", ["folder", "bucket"])
@pytest.mark.parametrize("export", LINES)
def test_whole_documents_as_json_lines(lake: Lake, export: str) -> None:
    job = {"do": "load", "path": lake.entry(export), "cooker": "everything"}
    found = lake.ask(job, {**job, "split": "val"}, {**job, "training": True})
    for each in found:
        assert each["restored"] == each["samples"][::-1]
    train, val, drawn = ({row["id"]: row for row in map(document_of, each["samples"])} for each in found)
    assert train
    assert val
    assert [len(each["samples"]) for each in found] == [len(train), 5 - len(train), len(train)]
    stream = lake.mill.stream()
    rows = [row for name in lake.mill.table(stream) for row in lake.mill.rows(stream.shard(name))]
    assert {**train, **val} == {row["id"]: row for row in rows}
    assert {row["id"]: row["metadata"] for row in rows} == {row["id"]: row["metadata"] for row in documents()}
    assert drawn.items() <= train.items()
    if LINES[export]:  # several files of a stream are drawn by weight, one is read to its end
        assert drawn == train


def document_of(sample: dict[str, Any]) -> dict[str, Any]:
    """The document that a sample of JSON lines is."""
    assert sample["__subflavors__"] == {"stream": "pages", **WORDS}
    assert set(sample["parts"]) == {"json"}
    found: dict[str, Any] = sample["parts"]["json"]
    return found
