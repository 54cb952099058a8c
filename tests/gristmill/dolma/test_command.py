"""The commands `dolma tag` and `dolma mix`: their options, what they print, and their exit codes."""

import json
from pathlib import Path

import pytest

from gristmill.__main__ import main


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/0.jsonl").write_text('{"id":"1","text":"one","source":"s"}\n')
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text("documents: [documents/*.jsonl]\ntaggers: [char_length_v1]\nprocesses: 4\n")
    return tmp_path


def test_a_configuration_is_run_and_then_nothing_is_left(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dolma", "tag", "-c", "config.yaml"]) == 0
    out = capsys.readouterr().out
    assert "1 files to tag, 0 files of attributes are done\n" in out
    assert out.endswith("1 documents in 1 files tagged\n")
    row = json.loads((home / "attributes/char_length_v1/0.jsonl").read_text())
    assert row["attributes"] == {"char_length_v1__char_length_v1__length": [[0, 3, 3.0]]}
    assert main(["dolma", "-c", "config.yaml", "tag"]) == 0
    assert "0 files to tag, 1 files of attributes are done\n" in capsys.readouterr().out


def test_options_come_before_the_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["dolma", "tag", "-c", "config.yaml", "--experiment", "e", "--taggers", "doc_count_v1"]
    assert main([*words, "--dryrun"]) == 0
    assert capsys.readouterr().out.startswith(f"{home}/attributes/e: doc_count_v1\n1 files to tag")
    assert not (home / "attributes").exists()
    assert main(words) == 0
    assert (home / "attributes/e/0.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-c", "no.yaml"], "no.yaml: No such file"),
        (["--taggers", "gopher_v1"], "documents: give at least one"),
        (["-c", "config.yaml", "--taggers", "gofer_v1"], "unknown tagger 'gofer_v1'; did you mean 'gopher_v"),
        (["-c", "config.yaml", "--taggers", "cld3_en_doc_v2"], "cld3_en_doc_v2: "),
        (["-c", "config.yaml", "--option", "x"], "--option takes KEY=VALUE"),
    ],
)
@pytest.mark.usefixtures("home")
def test_an_error_is_exit_code_2(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dolma", "tag", *words]) == 2
    assert error in capsys.readouterr().err


@pytest.fixture
def mixing(home: Path) -> Path:
    stream = {"name": "s", "documents": ["documents/*.jsonl"], "filter": {"exclude": ["$.nope"]}}
    config = {"streams": [{**stream, "output": {"path": "out"}, "compression": {"output": ""}}], "processes": 2}
    (home / "mix.json").write_text(json.dumps(config))
    return home


def test_a_mix_is_run_and_then_nothing_is_left(mixing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dolma", "mix", "-c", "mix.json", "--dryrun"]) == 0
    assert capsys.readouterr().out == "s: 1 files in out\n1 files to write, 0 are done\n"
    assert not (mixing / "out").exists()
    assert main(["dolma", "-c", "mix.json", "mix"]) == 0
    assert capsys.readouterr().out.endswith("1 of 1 documents kept in 1 files\n")
    row = json.loads((mixing / "out/s-0000.json").read_text())
    assert row == {"id": "1", "text": "one", "source": "s", "metadata": {"provenance": "0.jsonl:1"}}
    assert main(["dolma", "mix", "-c", "mix.json"]) == 0
    assert capsys.readouterr().out.endswith("0 files to write, 1 are done\n")
    assert main(["dolma", "mix", "-c", "mix.json", "--no-shuffle"]) == 2
    assert "which these documents do not give any more" in capsys.readouterr().err


@pytest.mark.usefixtures("mixing")
@pytest.mark.parametrize(
    ("words", "error"),
    [([], "give the streams in a configuration"), (["-c", "config.yaml"], "unknown field `documents`")],
)
def test_a_mix_needs_its_configuration(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dolma", "mix", *words]) == 2
    assert error in capsys.readouterr().err


def test_a_tagger_may_be_left_out(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["dolma", "tag", "-c", "config.yaml", "--taggers", "char_length_v1", "dclm-oh-eli5"]
    assert main(words) == 2
    assert "--leave-out NAME runs the others:\ndclm-oh-eli5: its model" in capsys.readouterr().err
    assert main([*words, "--leave-out", "dclm-oh-eli5"]) == 0
    assert [path.name for path in (home / "attributes").iterdir()] == ["char_length_v1"]
    assert main([*words, "--leave-out", "doc_count_v1"]) == 2
    assert "'doc_count_v1' is not one of the taggers char_length_v1, dclm-oh-eli5" in capsys.readouterr().err
    assert main([*words, "--leave-out", "dclm-oh-eli5", "--leave-out", "char_length_v1"]) == 2
    assert "no tagger is left" in capsys.readouterr().err


SECRET = "s3cr3t-'of-this-machine"


@pytest.mark.parametrize(
    ("command", "config"),
    [
        ("tag", "documents: ['${oc.env:KEY}/documents/*.gz']\ntaggers: [char_length_v1]\n"),
        ("tag", "documents: [documents/*.jsonl]\ntaggers: [char_length_v1]\nprocesses: '${oc.env:KEY}'\n"),
        ("tag", "documents: [documents/*.jsonl]\ntaggers: [char_length_v1]\nexperiment: 'a${oc.env:KEY}'\n"),
        ("tag", "documents: [documents/*.jsonl]\ntaggers: ['${oc.env:KEY}']\n"),
        (
            "dedupe",
            "documents: [documents/*.jsonl]\ndedupe: {name: '${oc.env:KEY}', paragraphs: {attribute_name: a}}\n",
        ),
        ("dedupe", "documents: ['s3://${oc.env:KEY}']\ndedupe: {paragraphs: {attribute_name: a}}\n"),
        ("mix", "streams: [{name: '${oc.env:KEY}', documents: [documents/*.jsonl], output: {path: out}}]\n"),
        ("mix", "streams: [{name: s, documents: ['${oc.env:KEY}/*.gz'], output: {path: out}}]\n"),
        ("mix", "streams: [{name: s, documents: [a], output: {path: out, max_size_in_bytes: '${oc.env:KEY}'}}]\n"),
        ("mix", "streams: [{name: s, documents: [a], filter: {include: ['${oc.env:KEY}']}, output: {path: out}}]\n"),
    ],
)
def test_a_value_of_the_environment_is_in_no_error_and_in_no_name(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, config: str
) -> None:
    monkeypatch.setenv("KEY", SECRET)
    (home / "c.yaml").write_text(config)
    assert main(["dolma", command, "-c", "c.yaml"]) == 2
    captured = capsys.readouterr()
    assert SECRET[:8] not in captured.out + captured.err
    assert captured.err
    assert not [path for path in home.rglob("*") if SECRET[:8] in path.name]


def test_an_error_of_a_worker_hides_the_value_too(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KEY", str(home))
    (home / "documents/0.jsonl").write_text('{"id":"1"}\n')
    (home / "c.yaml").write_text("documents: ['${oc.env:KEY}/documents/*.jsonl']\ntaggers: [char_length_v1]\n")
    assert main(["dolma", "tag", "-c", "c.yaml"]) == 2
    err = capsys.readouterr().err
    assert str(home) not in err
    assert "${oc.env:KEY}/documents/0.jsonl: row 0" in err


@pytest.mark.parametrize("command", ["tag", "dedupe"])
def test_attributes_of_documents_that_are_gone_are_told_and_stay(
    home: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    for name in ("1", "2"):
        (home / f"documents/{name}.jsonl").write_text(f'{{"id":"{name}","text":"one","source":"s"}}\n')
    labels = {
        "tag": "taggers: [char_length_v1]\nexperiment: e",
        "dedupe": "dedupe: {name: e, paragraphs: {attribute_name: a}}",
    }
    for pattern in ("*", "[12]"):
        (home / f"{len(pattern)}.yaml").write_text(f"documents: ['documents/{pattern}.jsonl']\n{labels[command]}\n")
    words = "files of attributes are left that no document gives any more; remove them if nobody needs them: "
    assert main(["dolma", command, "-c", "1.yaml"]) == 0
    (home / "documents/1.jsonl").unlink()
    assert words not in capsys.readouterr().out
    for left, config in (("1", "1.yaml"), ("1", "4.yaml")):
        assert main(["dolma", command, "-c", config]) == 0
        assert f"1 {words}{home}/attributes/e/{left}.jsonl\n" in capsys.readouterr().out
    assert sorted(path.name for path in (home / "attributes/e").glob("*.jsonl")) == ["0.jsonl", "1.jsonl", "2.jsonl"]
    (home / "attributes/e/1.jsonl").unlink()
    assert main(["dolma", command, "-c", "1.yaml"]) == 0
    assert words not in capsys.readouterr().out


OTHER_OPTIONS = {
    "tag": ("taggers: [char_length_v1]\nexperiment: e", "taggers: [whitespace_tokenizer_v1]\nexperiment: e"),
    "dedupe": (
        "dedupe: {name: e, paragraphs: {attribute_name: a}}",
        "dedupe: {name: e, documents: {attribute_name: a, key: $.text}}",
    ),
}


@pytest.mark.parametrize("command", ["tag", "dedupe"])
def test_with_other_options_the_attributes_of_documents_that_are_gone_go(
    home: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Nobody who reads the folder can tell them from those of today, and the manifest names them no longer."""
    for name in ("1", "2", "3"):
        (home / f"documents/{name}.jsonl").write_text(f'{{"id":"{name}","text":"one","source":"s"}}\n')
    for number, labels in enumerate(OTHER_OPTIONS[command]):
        (home / f"{number}.yaml").write_text(f"documents: ['documents/*.jsonl']\n{labels}\n")
    folder = home / "attributes/e"
    assert main(["dolma", command, "-c", "0.yaml"]) == 0
    (home / "documents/1.jsonl").unlink()
    (home / "documents/2.jsonl").unlink()
    capsys.readouterr()
    with (folder / "2.jsonl").open("a") as edited:
        edited.write("\n")
    assert main(["dolma", command, "-c", "1.yaml", "--force"]) == 2
    assert f"{folder}: 2.jsonl have changed since an earlier run wrote them" in capsys.readouterr().err
    (folder / "2.jsonl").unlink()
    assert main(["dolma", command, "-c", "1.yaml", "--force", "--dryrun"]) == 0
    assert (folder / "1.jsonl").exists()
    assert main(["dolma", command, "-c", "1.yaml", "--force"]) == 0
    assert "1 files of an earlier run are removed\n" in capsys.readouterr().out
    assert sorted(path.name for path in folder.glob("*.jsonl")) == ["0.jsonl", "3.jsonl"]
