import json
from itertools import pairwise
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from energonlake import HERE, INDEX, close, export, found, mix_of, mixed, offsets, records, release_of, start, why
from msgspec.structs import replace
from testkit import Mill, make_documents

from gristmill.energon.exports.jsonl import EnergonJsonlCodec
from gristmill.energon.exports.mixture import encode_metadataset
from gristmill.energon.exports.splits import Dataset
from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.errors import DataError
from gristmill.lake.rows.draw import VALIDATION_SEED, draw_fraction
from gristmill.recipes.export_formats.codec import NamedFile, Release, ReleaseFile

PLAIN = EnergonJsonl()


def lines(data: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in data.splitlines()]


def test_a_part_is_the_lines_of_the_shard_and_their_ends(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, PLAIN)
    record = records(mill)["b"]
    assert sorted(record.files) == ["train.jsonl", "train.jsonl.idx"]
    data = mill.store.read(record.folder + "train.jsonl")
    assert lines(data) == make_documents(10, start=10)
    ends = [0]
    for line in data.splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    assert offsets(mill.store.read(record.folder + "train.jsonl.idx")) == ends
    assert record.line(3) == ("train.jsonl", 3)


def test_fields_are_copied_under_their_names_and_absent_ones_are_counted(tmp_path: Path) -> None:
    mill = Mill(tmp_path)
    good, bare, half = make_documents(3)
    good["metadata"] = {"image": "a/b.jpg", "size": 1e22, "title": "\u00e9"}
    half["metadata"] = {"image": None}
    mill.raw("a.jsonl.gz", [good, bare, half])
    mixed(mill)
    fields = {"caption": "text", "image": "metadata.image", "title": "metadata.title?", "size": "metadata.size?"}
    head = export(mill, EnergonJsonl(fields=fields))
    assert head.dropped == {"it has no metadata.image": 1}
    record = records(mill)["a"]
    data = mill.store.read(record.folder + "train.jsonl")
    assert lines(data) == [
        {"caption": good["text"], "image": "a/b.jpg", "title": "\u00e9", "size": 1e22},
        {"caption": half["text"], "image": None},
    ]
    assert [record.line(number) for number in range(3)] == [("train.jsonl", 0), None, ("train.jsonl", 1)]


@pytest.mark.parametrize(
    "name", ["/a.jpg", "../a.jpg", "x/../../a.jpg", "s3://b/a.jpg", "a{1}.jpg", "a/", ["a.jpg", ""]]
)
def test_media_names_that_energon_cannot_use_are_refused(tmp_path: Path, name: object) -> None:
    mill = Mill(tmp_path)
    good, bad, odd = make_documents(3)
    good["metadata"], bad["metadata"], odd["metadata"] = {"image": ["a.jpg", "5f/1e07"]}, {"image": name}, {"image": 7}
    mill.raw("a.jsonl.gz", [good, bad, odd])
    mixed(mill)
    head = export(mill, EnergonJsonl(media=("metadata.image",)))
    assert (head.totals["rows"], sorted(head.dropped.values())) == (1, [1, 1])
    data = mill.store.read(records(mill)["a"].folder + "train.jsonl")
    assert lines(data) == [good]


def test_documents_that_the_mix_holds_out_are_the_split_val(tmp_path: Path) -> None:
    mill, mix = start(tmp_path / "lake"), mix_of(validation=0.4)
    export(mill, PLAIN, mix)
    held = {row["id"] for row in make_documents(20) if draw_fraction(("pages", row["id"]), VALIDATION_SEED) < 0.4}
    there: set[object] = set()
    for record in records(mill).values():
        assert sorted(record.files) == ["train.jsonl", "train.jsonl.idx", "val.jsonl", "val.jsonl.idx"]
        there |= {row["id"] for row in lines(mill.store.read(record.folder + "val.jsonl"))}
    assert there == held
    close(mill, PLAIN, mix)
    text = mill.store.read(f"{INDEX}/metadataset.yaml").decode()
    assert text.count('split_part: "val"') == text.count('/val.jsonl"') == 2
    assert found(mill, HERE.ledger) == found(mill, f"{INDEX}/ledger.json") == []


def test_the_metadataset_names_the_files_of_the_parts_and_divides_the_weight_of_the_stream(tmp_path: Path) -> None:
    mill = Mill(tmp_path)
    mill.raw("a.jsonl.gz", make_documents(10))
    mill.raw("b.jsonl.gz", make_documents(5, start=10))
    mixed(mill)
    declared = EnergonJsonl(aux={"images": "filesystem://../media"}, subflavors={"version": "1e5"})
    export(mill, declared)
    assert why(mill, declared) == ("never made",)
    close(mill, declared)
    assert why(mill, declared) == ()
    folders = {name: record.folder.removeprefix("exports/blend/energon/") for name, record in records(mill).items()}
    blend = yaml.safe_load(mill.store.read(f"{INDEX}/metadataset.yaml"))["splits"]["train"]["blend"]
    assert [(each["weight"], each["path"]) for each in blend] == [
        (2.0, f"../{folders['a']}train.jsonl"),
        (1.0, f"../{folders['b']}train.jsonl"),
    ]
    assert [each["subflavors"] for each in blend] == [{"stream": "pages", "version": "1e5"}] * 2
    assert [each["aux"] for each in blend] == [{"images": "filesystem://../media"}] * 2
    assert [entry.path for entry in mill.store.list(release_of(mill).folder)] == []
    assert found(mill, f"{INDEX}/ledger.json") == []


def test_the_parts_of_a_stream_are_joined_on_request(tmp_path: Path) -> None:
    mill, declared = start(tmp_path / "lake", shards=3), EnergonJsonl(file_bytes=1 << 20)
    export(mill, declared)
    close(mill, declared)
    folder = release_of(mill).folder
    assert [e.path.removeprefix(folder) for e in sorted(mill.store.list(folder), key=lambda entry: entry.path)] == [
        "pages/train-00000.jsonl",
        "pages/train-00000.jsonl.idx",
    ]
    data = mill.store.read(f"{folder}pages/train-00000.jsonl")
    assert lines(data) == make_documents(30)
    ends = offsets(mill.store.read(f"{folder}pages/train-00000.jsonl.idx"))
    assert [data[start:end] for start, end in pairwise(ends)] == data.splitlines(keepends=True)
    assert (
        f'path: "{folder.removeprefix(INDEX + "/")}pages/train-00000.jsonl"'
        in mill.store.read(f"{INDEX}/metadataset.yaml").decode()
    )
    assert why(mill, declared) == ()
    assert found(mill, f"{INDEX}/ledger.json") == []
    mill.store.put(f"{folder}pages/train-00000.jsonl.idx", bytes(8))
    assert any("jsonl.idx" in each for each in found(mill, f"{INDEX}/ledger.json"))


def test_a_takedown_rewrites_one_part_and_the_metadataset(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, PLAIN)
    close(mill, PLAIN)
    before = records(mill)
    mill.raw("b.jsonl.gz", make_documents(9, start=10))
    mixed(mill)
    export(mill, PLAIN)
    assert mill.ground == ["b"]
    assert why(mill, PLAIN)
    close(mill, PLAIN)
    after = records(mill)
    text = mill.store.read(f"{INDEX}/metadataset.yaml").decode()
    assert (after["a"], after["b"] == before["b"]) == (before["a"], False)
    assert before["b"].folder.removeprefix("exports/blend/energon/") not in text
    assert after["b"].folder.removeprefix("exports/blend/energon/") in text


def test_equal_lakes_have_equal_bytes(tmp_path: Path) -> None:
    trees = []
    for name in ("one", "other"):
        mill, declared = start(tmp_path / name), EnergonJsonl(fields={"t": "text"}, file_bytes=100)
        export(mill, declared)
        close(mill, declared)
        trees.append(mill.tree())
    assert trees[0] == trees[1]


def test_a_release_without_the_weight_of_a_stream_is_an_error_that_names_its_file() -> None:
    release = Release(1, {}, "exports/blend/lines/index/release-1f/", (), weights={"news": 1.0})
    pages = Dataset("pages", "train", "exports/blend/lines/pages/a.jsonl", 3, "")
    with pytest.raises(DataError, match=r"^exports/blend/lines/index/release\.json: it has no weight of pages; make"):
        encode_metadataset(release, [pages], {}, {})
    with pytest.raises(DataError, match="no stream of the mix 'blend' has a document left, and Energon reads no empty"):
        encode_metadataset(release, [pages._replace(rows=0)], {}, {})


def test_the_samples_that_rounding_leaves_out_of_small_files_are_counted() -> None:
    """Of 60 files of 5 samples an epoch should have a tenth: half a sample of each."""
    path = "exports/blend/lines/tales/2024/part-{:05}-1f/train.jsonl"
    named = tuple(NamedFile(path.format(number), 5, "train") for number in range(60))
    epoch = Release(1, {}, f"{INDEX}/release-1f/", (), named=named, repetitions={"tales": 0.1})
    [rounding, _] = EnergonJsonlCodec(PLAIN).warnings(epoch)
    assert rounding == (
        "an epoch of Energon has 0 of the 30 wanted samples of 'tales': it rounds down in each of 60 files, and again"
        " for each worker; give the export file_bytes, which joins them"
    )
    half_more = replace(epoch, repetitions={"tales": 1.5})  # 7 of the 7.5 of each
    assert "has 420 of the 450 wanted samples" in EnergonJsonlCodec(PLAIN).warnings(half_more)[0]
    joined = replace(epoch, named=(), files=(ReleaseFile("tales/train-00000.jsonl", 300, 9000, ()),))
    assert len(EnergonJsonlCodec(PLAIN).warnings(joined)) == 1
    assert EnergonJsonlCodec(PLAIN).warnings(replace(epoch, repetitions={"tales": 2.0})) == ()
