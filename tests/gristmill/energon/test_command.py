"""The command: options in both spellings, what it prints, and its exit codes."""

import json
from pathlib import Path

import pytest
from tarfolder import contents, write_shards, write_tar

from gristmill.__main__ import main


def energon(*words: object) -> int:
    return main(["energon", *map(str, words)])


def told(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_a_folder_is_prepared_checked_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_shards(tmp_path)
    assert energon("prepare", tmp_path, "--split-ratio", "2,1,1", "--num-workers", 1, "--non-interactive") == 0
    out = told(capsys)
    assert "4 shards, shards/3.tar: 3 samples\n" in out
    assert out.endswith("written: 12 samples in 4 shards\nparts: txt 12, json 12\n")
    assert energon("lint", tmp_path) == 0
    assert told(capsys) == "12 samples in 4 shards; 0 wrong, 0 warnings\n"
    assert energon("info", tmp_path) == 0
    assert "samples  12 in 4 shards\n" in told(capsys)
    assert energon("preview", tmp_path, "--samples", 1) == 0
    assert told(capsys).startswith("sample '0-0' (shards/0.tar)\n")
    assert energon("prepare", tmp_path, "--split-ratio", "2,1,1") == 2
    assert "prepared already" in told(capsys)
    assert energon("prepare", tmp_path, "--tar-index-only", "--num-workers", 1, "--no-progress") == 0
    assert told(capsys).startswith("written: 12 samples")


def test_a_jsonl_file_is_prepared_and_a_bad_line_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": \x1b}\n')
    assert energon("prepare", path) == 1
    out = told(capsys)
    assert out.startswith("WRONG   a.jsonl: line 2: its JSON is not valid")
    assert out.endswith("1 wrong, 0 warnings; nothing was written\n")
    assert "\x1b" not in out
    path.write_text('{"a": 1}\n')
    assert energon("prepare", path) == 0
    assert told(capsys) == "written: 1 samples\n"
    assert energon("lint", path) == 0
    assert told(capsys) == "checked: 1 samples\n"
    assert energon("prepare", path, "--split-ratio", "1,0,0") == 2
    assert "--split-ratio: a JSONL file has neither splits nor media" in told(capsys)


def test_a_flaw_is_exit_code_1_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tar(tmp_path / "a.tar", [("x.txt", b"1"), ("y.txt", b"1"), ("x.txt", b"1")])
    before = contents(tmp_path)
    assert energon("prepare", tmp_path, "--split-ratio", "1,0,0", "--num-workers", 1) == 1
    out = told(capsys)
    assert "WRONG   a.tar: sample 'x': its key occurs twice: here as sample 0, and in a.tar as sample 2" in out
    assert out.endswith("1 wrong, 0 warnings; nothing was written\n")
    assert contents(tmp_path) == before
    assert energon("lint", tmp_path) == 1
    assert "WRONG   .nv-meta/.info.json: the file is missing, so the dataset is not prepared" in told(capsys)


def test_a_sample_type_and_a_field_map_are_written_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_shards(tmp_path)
    splits = ("--split-parts", "train:shards/[0-2]", "--split-parts", "val:shards/3", "--num-workers", 1)
    for words, reason in (
        (("--sample-type", "TextSample"), "needs --field-map"),
        (("--sample-type", "TextSampl"), "did you mean 'TextSample'"),
        (("--sample-type", "TextSample", "--field-map", "{"), "is not JSON"),
        (("--sample-type", "TextSample", "--field-map", "[]"), "give an object"),
        (("--sample-type", "TextSample", "--field-map", '{"txt": "txt"}'), "TextSample has no field 'txt'"),
        (("--field-map", '{"text": "txt"}'), "needs a --sample-type"),
        (("--dataset-yaml-name", "../x.yaml"), "give the name of a file in .nv-meta"),
        (("--dataset-yaml-name", "split.yaml"), "give the name of a file in .nv-meta"),
    ):
        assert energon("prepare", tmp_path, *splits, *words) == 2
        assert reason in told(capsys)
    assert not (tmp_path / ".nv-meta").exists()
    named = ("--sample-type", "TextSample", "--field-map", '{"text": "txt"}', "--dataset-yaml-name", "text.yaml")
    assert energon("prepare", tmp_path, *splits, *named) == 0
    assert 'text: "txt"' in (tmp_path / ".nv-meta" / "text.yaml").read_text()
    assert not (tmp_path / ".nv-meta" / "dataset.yaml").exists()


def test_no_dataset_yaml_is_written_if_it_is_to_be_skipped(tmp_path: Path) -> None:
    write_shards(tmp_path, 1)
    words = ("--split-ratio", "1,0,0", "--skip-dataset-yaml", "--sample-type", "TextSample", "--num-workers", 1)
    assert energon("prepare", tmp_path, *words) == 0
    assert not (tmp_path / ".nv-meta" / "dataset.yaml").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--media-metadata"], "media are selected in 0 ways"),
        (["--media-by-extension", "--media-by-header"], "media are selected in 2 ways"),
        (["--media-metadata-by-glob", "*.png", "--media-by-header"], "media are selected in 2 ways"),
        (["--media-by-glob", "*.png,"], "a pattern is empty"),
        (["--tar-index-only", "--media-by-header"], "--tar-index-only makes the indexes of all shards alone"),
        (["--tar-index-only", "--exclude", "a"], "--tar-index-only makes the indexes of all shards alone"),
        (["--fix-duplicates"], "--fix-duplicates changes tars, which Gristmill never does"),
        (["--split-ratio", "1,1"], "give the shares of train, val and test"),
        (["--split-ratio", "1,1,1", "--split-parts", "a:b"], "give --split-ratio or --split-parts, not both"),
        (["--num-workers", "-1"], "--num-workers -1"),
        (["--option", "region=x"], "--option takes KEY=VALUE"),
        ([], "give the splits"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    write_shards(tmp_path, 1)
    before = contents(tmp_path)
    assert energon("prepare", tmp_path, *words) == 2
    assert reason in told(capsys)
    assert contents(tmp_path) == before


def test_prepare_media_takes_exactly_one_selection_and_no_jsonl(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert energon("prepare-media", tmp_path) == 2
    assert "media are selected in 0 ways" in told(capsys)
    twice = ("--media-by-glob", "*.png", "--media-metadata-by-glob", "*.jpg")
    assert energon("prepare-media", tmp_path, *twice) == 2
    assert "--media-by-glob is given 2 times; write its patterns as one: '*.png,*.jpg'" in told(capsys)
    (tmp_path / "a.jsonl").write_text("{}\n")
    assert energon("prepare-media", tmp_path / "a.jsonl", "--media-by-extension") == 2
    assert "a JSONL file holds no media" in told(capsys)
    assert energon("prepare", tmp_path) == 2
    assert "it has no tar; a folder of media files is prepared by prepare-media, and .jsonl files one by" in told(
        capsys
    )
    assert energon("lint", tmp_path) == 2
    assert "it has no tar, so there is nothing to check; a folder of media files is" in told(capsys)
    assert energon("preview", tmp_path, "--samples", "0") == 2


@pytest.mark.parametrize("spelling", ["--media-by", "--media-metadata-by"])
def test_media_are_added_in_both_spellings(tmp_path: Path, capsys: pytest.CaptureFixture[str], spelling: str) -> None:
    for package in ("PIL", "av", "filetype"):
        pytest.importorskip(package, reason="the extra media")
    from mediafiles import image

    (tmp_path / "a.png").write_bytes(image())
    (tmp_path / "b.png").write_bytes(b"no image")
    assert energon("prepare-media", tmp_path, f"{spelling}-extension", "--num-workers", 1) == 1
    out = told(capsys)
    assert "WRONG   b.png: it is no image of a known format" in out
    assert out.endswith("written: 1 media files\n")
    assert energon("info", tmp_path) == 0
    assert told(capsys).endswith("media    1 image; selected by EXTENSION\n")
    (tmp_path / "b.png").write_bytes(image())
    assert energon("prepare-media", tmp_path, f"{spelling}-glob", "*.png", "--num-workers", 1) == 0


@pytest.mark.slow
def test_a_prefix_of_a_bucket_is_prepared_as_a_folder_is(
    tmp_path: Path, endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    import boto3

    write_shards(tmp_path)
    client = boto3.Session().client("s3", endpoint_url=endpoint, region_name="us-east-1")
    client.create_bucket(Bucket="mill")
    for name, data in contents(tmp_path).items():
        client.put_object(Bucket="mill", Key=f"set/{name}", Body=data)
    client.put_object(Bucket="mill", Key="rows/a.jsonl", Body=b'{"a": 1}\n')
    option = ("--option", f"endpoint={endpoint}")
    words = ("--split-ratio", "2,1,1", "--num-workers", 1)
    assert energon("prepare", tmp_path, *words) == 0
    assert energon("prepare", "s3://mill/set", *words, *option) == 0
    stored = {
        each["Key"].removeprefix("set/"): client.get_object(Bucket="mill", Key=each["Key"])["Body"].read()
        for each in client.list_objects_v2(Bucket="mill", Prefix="set/")["Contents"]
    }
    assert stored == contents(tmp_path)
    assert energon("prepare", "s3://mill/rows/a.jsonl", *option) == 0
    for command in ("lint", "info", "preview"):
        assert energon(command, "s3://mill/set", *option) == 0
        assert energon(command, "s3://mill/rows/a.jsonl", *option) == 0
    assert json.loads(stored[".nv-meta/.info.json"])["shard_counts"]["shards/0.tar"] == 3
    told(capsys)
