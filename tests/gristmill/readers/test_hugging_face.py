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
    assert chosen(data_files("train")) == [NAMES[3], NAMES[4], NAMES[6], NAMES[7], NAMES[9]]
    assert chosen(data_files("test", "validation")) == [NAMES[5], NAMES[8]]
    assert chosen(data_files("train", config="en")) == [NAMES[9]]
    assert chosen(data_files(config="en")) == NAMES[8:]
    assert chosen(data_files("tr.in")) == []


SPLIT_OF = {
    "train.csv": "train",
    "training.csv": "train",
    "my_train_file.csv": "train",
    "2019-train.csv": "train",
    "train1.csv": "train",
    "train/a.csv": "train",
    "x/train-set/y/a.csv": "train",
    "train/test.csv": "test",
    "test/train-1.csv": "train",
    "data/train-00000-of-00002.parquet": "train",
    "data/train-00000-of-00002-c0ffee.parquet": "train",
    "validation.csv": "validation",
    "valid.csv": "validation",
    "val.csv": "validation",
    "dev.csv": "validation",
    "a.dev.jsonl.gz": "validation",
    "dev/a.csv": "validation",
    "testing.csv": "test",
    "eval.csv": "test",
    "evaluation.csv": "test",
    "my eval 2/a.csv": "test",
    "trainer.csv": "",
    "strain.csv": "",
    "contest.csv": "",
    "Train.csv": "",
    "a.csv": "",
    "data/train_sft-00000-of-00001.parquet": "train_sft",
    "data/holdout-00000-of-00001.parquet": "holdout",
    ".cache/train.csv": None,
    "__pycache__/train.csv": None,
    "train.png": None,
    "dataset_info.json": None,
    "train/dataset_infos.json": None,
}


@pytest.mark.parametrize("name", SPLIT_OF)
def test_a_name_belongs_to_the_split_that_the_hub_gives_it(name: str) -> None:
    split = SPLIT_OF[name]
    taken = {
        each for each in ("train", "validation", "test", "train_sft", "holdout") if re.search(data_files(each), name)
    }
    assert taken == ({split} if split else set())
    assert bool(re.search(data_files(), name)) == (split is not None)


def test_a_split_may_be_called_by_any_of_its_words() -> None:
    assert [bool(re.search(data_files(word), "valid.csv")) for word in ("dev", "val", "validation", "eval")] == [
        True, True, True, False,
    ]  # fmt: skip


CARD = """---
license: cc0-1.0
configs:
- config_name: first
  data_files: "a/*.csv"
- config_name: second
  default: true
  data_files:
  - split: train
    path: ["b/one.csv", "b/two?.csv"]
  - split: holdout
    path: b/**/[h-j].csv
- config_name: third
  data_dir: c
- config_name: fourth
  data_dir: d
  data_files: ["x.csv", "y.csv"]
---
# Poems
"""
LISTED = ["README.md", "a/1.csv", "a/x/1.csv", "b/one.csv", "b/two2.csv", "b/x/y/h.csv", "b/h.csv", "b/k.csv"]
LISTED += ["c/train.csv", "c/dev.csv", "d/x.csv", "d/y.csv", "x.csv", "train.csv"]


@pytest.mark.parametrize(
    ("splits", "config", "names"),
    [
        (("train",), None, ["b/one.csv", "b/two2.csv"]),
        (("holdout",), "second", ["b/x/y/h.csv", "b/h.csv"]),
        ((), None, ["b/one.csv", "b/two2.csv", "b/x/y/h.csv", "b/h.csv"]),
        (("train",), "first", ["a/1.csv"]),
        (("train",), "third", ["c/train.csv"]),
        (("validation",), "third", ["c/dev.csv"]),
        (("train",), "fourth", ["d/x.csv", "d/y.csv"]),
    ],
)
def test_a_card_lists_the_files_of_its_configurations(
    splits: tuple[str, ...], config: str | None, names: list[str]
) -> None:
    pattern = data_files(*splits, config=config, card=CARD)
    assert [name for name in LISTED if re.search(pattern, name)] == names


@pytest.mark.parametrize(
    ("splits", "config", "card", "words"),
    [
        (("test",), None, CARD, "the card lists no split 'test'; known: train, holdout"),
        (("train",), "frist", CARD, "no configuration 'frist'; did you mean 'first'"),
        (("train",), None, CARD.replace("  default: true\n", ""), "give config=, one of first, second, third, fourth"),
        ((), None, "---\nconfigs: x\n---\nA\n", "is no list of configurations"),
        ((), None, "---\nconfigs:\n- data_files:\n  - split: a\n---\nA\n", "has no path"),
        ((), None, "---\nconfigs: [\n---\nA\n", "the card cannot be read: invalid front matter"),
    ],
)
def test_a_card_that_does_not_have_what_is_asked_is_an_error(
    splits: tuple[str, ...], config: str | None, card: str, words: str
) -> None:
    with pytest.raises(RecipeError, match=re.escape(words)):
        data_files(*splits, config=config, card=card)


def test_a_card_without_configurations_leaves_the_names() -> None:
    assert data_files("train", card="---\nlicense: cc0-1.0\n---\nA\n") == data_files("train")


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
