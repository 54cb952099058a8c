"""A dataset folder of the Hub is one recipe."""

import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from testkit import Mill

from gristmill.__main__ import main
from gristmill.errors import RecipeError
from gristmill.lake.address import documents_asset, place
from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.hugging_face import data_files
from gristmill.readers.parquet import ParquetRows
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.source import Everything, Source

NAMES = [
    "README.md",
    ".gitattributes",
    "dataset_infos.json",
    "data/train-00000-of-00002.parquet",
    "data/train-00001-of-00002.parquet",
    "data/test-00000-of-00001.parquet",
    "data/training.parquet",
    "train.jsonl",
    "en/validation.csv",
    "en/train/part.jsonl.gz",
]


def chosen(pattern: str) -> list[str]:
    return [name for name in NAMES if re.search(pattern, name)]


def test_splits_and_configurations_choose_files_and_the_card_is_never_one() -> None:
    assert chosen(data_files()) == NAMES[3:]
    assert chosen(data_files("train")) == [NAMES[3], NAMES[4], NAMES[7], NAMES[9]]
    assert chosen(data_files("test", "validation")) == [NAMES[5], NAMES[8]]
    assert chosen(data_files("train", config="en")) == [NAMES[9]]
    assert chosen(data_files(config="en")) == NAMES[8:]
    assert chosen(data_files("tr.in")) == []


@pytest.mark.parametrize("name", ["", "data/train"])
def test_what_is_no_name_of_a_split_is_an_error(name: str) -> None:
    with pytest.raises(RecipeError, match=r"^data_files: .* is no name of a split"):
        data_files(name)
    with pytest.raises(RecipeError, match=r"^data_files: .* is no name of a split"):
        data_files("train", config=name)


def test_the_folder_of_a_dataset_is_one_recipe(tmp_path: Path) -> None:
    """The card is not refused: it is no raw object of the source."""
    source = Source(
        name="poems",
        convert=ParquetRows(source="poems", id_template="{book}/{n}"),
        select=data_files("train"),
        partition=Everything(),
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "README.md").write_text("---\nlicense: cc0-1.0\n---\n# Poems\n")
    for number, name in enumerate(("train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001")):
        table = pa.table({"book": ["b"], "n": [number], "text": [f"poem {number}"]})
        pq.write_table(table, tmp_path / "data" / f"{name}.parquet")
    store = FolderStore(str(tmp_path))
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*"))
    made = [
        row
        for name in names
        if source.wants(name)
        for row in source.convert(RawObject(store, name, name, (tmp_path / name).stat().st_size))
    ]
    assert made == [
        Document(id=f"b/{n}", text=f"poem {n}", source="poems", metadata={"book": "b", "n": n}) for n in range(2)
    ]


def test_folders_of_parquet_and_of_csv_go_through_make(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the files of the split are read, each becomes a shard, and a second run has nothing to do."""
    for number, name in enumerate(("train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001")):
        file = io.BytesIO()
        pq.write_table(pa.table({"book": ["b"], "n": [number], "text": [f"poem {number}"]}), file)
        mill.raw(f"data/{name}.parquet", file.getvalue(), "poems")
    for language, word in (("en", "good"), ("fr", "bon")):
        mill.raw(f"{language}/train.csv", f'number,review,stars\n7,"{word},\n{word}",5\n'.encode(), "reviews")
    for source in ("poems", "reviews"):
        mill.raw("README.md", b"---\nlicense: cc0-1.0\n---\n", source)
    arguments = ["make", str(mill.root), "--shelves", "hubshelf"]
    assert main(arguments) == 0
    poems, reviews = (place(documents_asset(source, "v0"), "2024") for source in ("poems", "reviews"))
    assert {shard: mill.ids(poems, shard) for shard in mill.table(poems)} == {
        "data/train-00000-of-00002.parquet": ["b/0"],
        "data/train-00001-of-00002.parquet": ["b/1"],
    }
    (row,) = mill.rows(reviews.shard("en/train.csv"))
    assert (row["id"], row["text"], row["metadata"]) == ("7", "good,\ngood", {"stars": "5"})
    capsys.readouterr()
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "everything is up to date"
