"""`lint`, `info` and `preview` of what an export has written, and of other metadatasets."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from energonlake import INDEX, close, export, start
from tarfolder import contents, write_shards

from gristmill.__main__ import main
from gristmill.energon.formats.dataset_yaml import crude_dataset
from gristmill.energon.preparing.dataset import open_dataset
from gristmill.energon.preparing.jsonl import prepare_jsonl
from gristmill.energon.preparing.prepare import PrepareOptions, prepare_tars
from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.recipes.export import ExportFormat

Told = Callable[..., tuple[int, str]]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """Runs a subcommand; its exit code and what it has printed."""

    def run(*words: object) -> tuple[int, str]:
        code = main(["energon", *map(str, words)])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


def exported(root: Path, declared: ExportFormat) -> Path:
    """The index of an export of two shards with ten samples each."""
    mill = start(root)
    export(mill, declared)
    close(mill, declared)
    return root / "exports" / "blend" / "energon" / "index"


def test_a_release_of_tars_is_checked_told_and_shown_and_never_changed(tmp_path: Path, told: Told) -> None:
    index = exported(tmp_path / "lake", EnergonWebdataset(parts={"txt": "text"}))
    before = contents(index.parent)
    (release,) = index.glob("release-*")
    assert told("lint", release) == (0, "20 samples in 2 shards; 0 wrong, 0 warnings\n")
    assert told("lint", index) == (0, "20 samples in 1 datasets; 0 wrong, 0 warnings\n")
    assert told("lint", index / "metadataset.yaml") == told("lint", index)
    assert "samples  20 in 2 shards\n" in told("info", release)[1]
    assert told("info", index)[1].splitlines() == [
        f"{index}/metadataset.yaml: metadataset, 1 datasets in 1 splits",
        "split    train: 20 samples in 1 datasets",
        f"  100.0 %  {release.name}: 20 samples",
    ]
    lines = told("preview", index, "--samples", 1)[1].splitlines()
    assert lines[0] == f"dataset {release.name}"
    assert lines[1].startswith("sample '")
    assert "(../../pages/" in lines[1]
    for words in (("prepare", release, "--split-ratio", "1,0,0"), ("prepare-media", release, "--media-by-extension")):
        code, text = told(*words)
        assert code == 2
        assert "run `gristmill make`; to check it, run `gristmill energon lint`" in " ".join(text.split())
    assert contents(index.parent) == before

    damaged = next(index.parent.glob("pages/*/part-*/train-00000.tar.idx"))
    damaged.write_bytes(damaged.read_bytes()[:-8])
    code, text = told("lint", index)
    assert code == 1
    assert "samples, but the tar has 10 (`gristmill verify` says what to make again)" in text


def test_the_index_of_a_release_lacks_what_it_excludes(tmp_path: Path, told: Told) -> None:
    mill = start(tmp_path / "lake")
    export(mill, EnergonWebdataset())
    folder = (mill.root / INDEX).parent
    first, second = sorted(folder.glob("pages/*/part-*/train-00000.tar"))
    with tarfile.open(first) as tar:
        key = tar.getnames()[3].partition(".")[0]
    first, second = first.relative_to(folder), second.relative_to(folder)
    close(mill, EnergonWebdataset(exclude=(f"{first}/{key}", str(second))))
    (release,) = (mill.root / INDEX).glob("release-*")
    assert told("lint", release) == (0, "20 samples in 2 shards; 0 wrong, 0 warnings\n")
    assert "split    train: 9 samples in 1 datasets\n" in told("info", release.parent)[1]
    split = release / ".nv-meta" / "split.yaml"
    split.write_text(split.read_text().partition("exclude:")[0])
    assert ".nv-meta/index.sqlite: row 0: table samples has" in told("lint", release)[1]


def test_a_release_whose_files_name_others_outside_of_the_export_is_not_read(tmp_path: Path, told: Told) -> None:
    index = exported(tmp_path / "lake", EnergonWebdataset())
    (release,) = index.glob("release-*")
    info = release / ".nv-meta" / ".info.json"
    info.write_text(json.dumps({"energon_version": "7.4.1", "shard_counts": {"../../../secret.tar": 1}}))
    code, text = told("lint", release)
    assert code == 1
    assert "it names '../../../secret.tar', which is no path of a shard below this folder, so it is not read" in text


def test_an_export_of_lines_is_checked_file_by_file(tmp_path: Path, told: Told) -> None:
    index = exported(tmp_path / "lake", EnergonJsonl(aux={"images": "filesystem://../../../../media"}))
    code, text = told("lint", index)
    assert code == 0
    assert text.count("warning index/metadataset.yaml: auxiliary source 'images': it is not below ") == 1
    assert text.endswith("20 samples in 2 datasets; 0 wrong, 1 warnings\n")
    assert "split    train: 20 samples in 2 datasets\n  50.0 %  ../pages/" in told("info", index)[1]
    line = next(index.parent.glob("pages/*/part-*/train.jsonl"))
    line.write_bytes(line.read_bytes()[:-9] + b"\n")
    code, text = told("lint", index)
    assert code == 1
    assert "WRONG   ../pages/" in text


@pytest.fixture
def datasets(tmp_path: Path) -> Path:
    """A folder with a dataset of tars, with six samples for training, three each in val and test; and one of lines."""
    write_shards(tmp_path / "tars")
    options = PrepareOptions(ratio={"train": 2, "val": 1, "test": 1})
    assert prepare_tars(open_dataset(str(tmp_path / "tars"), {}), options, crude_dataset(), lambda _: None).written
    (tmp_path / "lines.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    assert not prepare_jsonl(open_dataset(str(tmp_path / "lines.jsonl"), {})).flaws
    return tmp_path


def write(folder: Path, splits: object, name: str = "all.yaml") -> Path:
    kind = {"__module__": "megatron.energon", "__class__": "MetadatasetV2"}
    (folder / name).write_text(json.dumps({**kind, "splits": splits}))
    return folder / name


def test_shares_of_nested_metadatasets_are_multiplied(datasets: Path, told: Told) -> None:
    tars, lines = {"path": "tars", "weight": 3}, {"path": "lines.jsonl", "weight": 1}
    write(datasets, {"train": {"blend": [tars, lines]}}, "inner.yaml")
    test = {"path": "tars", "split_part": "test", "weight": 2}
    path = write(
        datasets,
        {
            "train": {"blend": [{"path": "inner.yaml", "weight": 2}, test]},
            "val": {"blend_epochized": [{"path": "tars", "repetitions": 0.5}]},
        },
    )
    assert told("info", path)[1].splitlines() == [
        f"{path}: metadataset, 2 datasets in 2 splits",
        "split    train: 11 samples in 3 datasets",
        "  37.5 %  tars: 6 samples",
        "  12.5 %  lines.jsonl: 2 samples",
        "  50.0 %  tars, split test: 3 samples",
        "split    val: 3 samples in 1 datasets",
        "  0.5 times  tars: 3 samples",
    ]
    assert told("lint", path) == (0, "14 samples in 2 datasets; 0 wrong, 0 warnings\n")


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ({"path": "no"}, "WRONG   no: no prepared dataset is there"),
        ({"path": "no.jsonl"}, "WRONG   no.jsonl: there is no such file"),
        ({"path": "no.yaml"}, "WRONG   all.yaml: no.yaml: there is no such metadataset"),
        ({"path": "all.yaml"}, "WRONG   all.yaml: 'all.yaml' is the 8th metadataset in another"),
        ({"path": "../else"}, "WRONG   all.yaml: dataset '../else': it is not below"),
        ({"path": "msc://p/a"}, "WRONG   all.yaml: dataset 'msc://p/a': it is in another store"),
        ({"path": "tars", "split_part": "dev"}, "WRONG   tars/.nv-meta/split.yaml: split 'dev' has no shard"),
        ({"path": "tars", "aux": {"a": "no"}}, "WRONG   all.yaml: auxiliary source 'a': no: it has no index"),
        ({"blend": [{"path": "tars"}, {"path": "./tars/"}]}, "WRONG   all.yaml: split 'train': 'tars' comes twice"),
        (
            {"blend": [{"path": "tars", "weight": 0}, {"path": "lines.jsonl"}]},
            "warning all.yaml: split 'train': 'tars'",
        ),
        ({"blend": [{"path": "tars", "weight": -1}]}, "WRONG   all.yaml: split 'train': 'tars' has the share -1"),
        ({"blend": []}, "WRONG   all.yaml: split 'train': it has no dataset"),
        ({"path": "tars", "wait": 1}, "WRONG   all.yaml: not a valid metadataset: Object contains unknown field"),
    ],
)
def test_what_is_wrong_with_a_metadataset_is_named(
    datasets: Path, told: Told, split: dict[str, object], words: str
) -> None:
    code, text = told("lint", write(datasets, {"train": split}))
    assert words in text
    assert code == int(words.startswith("WRONG"))


def test_names_may_lead_to_what_is_below_the_root_that_is_given(datasets: Path, told: Told) -> None:
    (datasets / "sub").mkdir()
    path = write(datasets / "sub", {"train": {"path": "../tars"}, "val": {"path": str(datasets / "lines.jsonl")}})
    assert told("lint", path)[0] == 1
    assert told("lint", path, "--root", datasets) == (0, "14 samples in 2 datasets; 0 wrong, 0 warnings\n")
