import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from testkit import SHELVES, SNAPSHOT, Mill, own_shelf, packed
from wholelake import DOCUMENTS, STREAM, WORDS, even, flip, make_cache

from gristmill.__main__ import main
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.mixing.step import stream_step

ALONE = """
import sys
started = []
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"}
sys.addaudithook(lambda event, _: started.append(event) if event in STARTS else None)
from gristmill.__main__ import main
from gristmill.stages.mixing.step import stream_step
code = main(sys.argv[1:])
print("started", started, "imported", [name for name in ("dagster", "duckdb", "torch") if name in sys.modules])
sys.exit(code)
"""
"""Runs a command, and tells which processes it started, and which large libraries it imported."""

TINY = (
    "from gristmill.recipes.tokenizer import Tokenizer, Training\n"
    "TINY = Tokenizer(name='tiny-1', training=Training(mix='even', snapshots={'pages': ('2024',)}, vocabulary=300))\n"
)


def test_a_clean_lake_is_proven_and_the_exit_code_is_0(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(whole.root)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "proven sources/pages/v0/ledgers/documents/2024.json"
    assert said[-1] == "8 of 8 ledgers proven, 0 findings"
    assert len([line for line in said if line.startswith("proven ")]) == 8


def test_the_first_lie_is_named_and_the_exit_code_is_1(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    path = WORDS.shard("b")
    rows = whole.lines(path)
    whole.store.put(path, packed([*rows[:2], rows[3], rows[2], *rows[4:]]))
    flip(whole, STREAM.shard("a"))
    assert main(["verify", str(whole.root)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[2] == "WRONG  sources/pages/v0/ledgers/attributes/words-1/2024.json"
    assert said[3].startswith(f"       {path}: row 2: id 'doc-00023' (source 'pages'), but {DOCUMENTS.shard('b')} has")
    assert said[4] == "stopped at the first finding; 2 of 8 ledgers were proven before (--all lists all)"
    assert len(said) == 5
    assert main(["verify", str(whole.root), "--shelves", "testshelf"]) == 1
    told = capsys.readouterr().out.splitlines()[3]
    assert told.endswith(f"run `python -m gristmill make --shelves testshelf {whole.root} sources/pages`)")


def test_what_no_recipe_makes_asks_for_no_make_and_what_it_asks_for_is_enough(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    """No rule names the set characters-1 of v0, so nothing makes it since there is a v1. Then v0 has a shard less."""
    whole.store.delete(["sources/pages/raw/2024/b.jsonl.gz"])
    whole.convert()
    whole.tag("words-1")
    whole.revise()
    whole.make(stream_step(even(), "pages", SNAPSHOT, SHELVES))
    make_cache(whole)
    words = ["verify", str(whole.root), "--shelves", ",".join(SHELVES)]
    assert main([*words, "--all"]) == 1
    said = capsys.readouterr().out.splitlines()
    wrong = [line for line in said if line.startswith("WRONG")]
    assert wrong == ["WRONG  sources/pages/v0/ledgers/attributes/characters-1/2024.json"]
    mend = said[said.index(wrong[0]) + 1].rstrip(")")
    assert "(no recipe of --shelves makes sources/pages/v0/attributes/characters-1, so gristmill make does not" in mend
    subprocess.run(["bash", "-c", f"rm -rf {mend.partition('; or delete ')[2]}"], cwd=whole.root, check=True)
    assert main(words) == 0
    assert capsys.readouterr().out.endswith("7 of 7 ledgers proven, 0 findings\n")


def test_a_slice_that_make_refuses_has_the_mend_that_make_names(
    whole: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finished mix read v1, and its recipe reads v0 now. To make it again without its ledger goes around this."""
    mix = read_catalogue(SHELVES, checked=False).mixes["even"]
    monkeypatch.setitem(vars(mix.streams[0]), "version", "v0")
    shelves = ["--shelves", ",".join(SHELVES)]
    assert main(["make", str(whole.root), "mixes/even/documents/pages", *shelves]) == 1
    refusal = capsys.readouterr().err
    other, mend = refusal.partition("refused: ")[2].rstrip("\n").split(". ")
    assert (other[:12], mend[:34]) == ("was made of ", "Declare the change under the next ")
    assert main(["verify", str(whole.root), "--all", "--remix", "1", *shelves]) == 1
    findings = [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    index = "token_caches/even/tiny-1/index/ledger.json"
    assert findings == [
        f"{index}: it has 1 slice (pages (2024)) that its recipe does not take ({mend})",
        f"mixes/even/ledgers/pages/2024.json: {other} ({mend})",
    ]


@pytest.mark.slow
def test_a_proof_that_compares_recipes_runs_none_so_it_starts_no_process(
    whole: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mix has a rule. A process that checks it costs a third of a second: as much as many a lake's whole proof."""
    own_shelf(whole, "tokenizers", TINY)
    monkeypatch.syspath_prepend(str(whole.root.parent))
    shelves = ["--shelves", ",".join([*SHELVES, "own_tokenizers"])]
    assert main(["release", str(whole.root), "even", "tiny-1", "first", *shelves]) == 0
    capsys.readouterr()
    command = [sys.executable, "-c", ALONE, "verify", str(whole.root), "--all", *shelves]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-2:] == ["8 of 8 ledgers proven, 0 findings", "started [] imported []"]
    assert "not proven" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_all_lies_are_listed_when_asked_for(whole: Mill, capsys: pytest.CaptureFixture[str], workers: str) -> None:
    for where in (WORDS, STREAM):
        flip(whole, where.shard("a"))
    assert main(["verify", str(whole.root), "--all", "--workers", workers]) == 1
    said = capsys.readouterr().out
    assert re.findall("WRONG  (.+)", said) == [
        "sources/pages/v0/ledgers/attributes/words-1/2024.json",
        "mixes/even/ledgers/pages/2024.json",
    ]
    assert "6 of 8 ledgers proven, " in said


def test_one_asset_is_verified_by_its_address(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    flip(whole, STREAM.shard("a"))
    assert main(["verify", str(whole.root), "--asset", "sources/pages"]) == 0
    assert capsys.readouterr().out.endswith("4 of 4 ledgers proven, 0 findings\n")


def test_nothing_to_verify_is_no_proof(whole: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(whole.root), "--asset", "sources/other"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["verify", str(tmp_path / "nowhere")]) == 2
    assert "there is no lake" in capsys.readouterr().err


@pytest.mark.slow
def test_a_lake_in_a_bucket_is_verified(whole: Mill, endpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    bucket = Mill(whole.root, "s3://mill/verified", {"endpoint": endpoint})
    for entry in whole.store.list(""):
        data = whole.store.read(entry.path)
        bucket.store.put(entry.path, data.replace(f'"{whole.root}/'.encode(), b'"s3://mill/verified/'))
    there = ["s3://mill/verified", "--option", f"endpoint={endpoint}"]
    assert main(["verify", *there]) == 0
    flip(bucket, DOCUMENTS.shard("b"), 0)
    assert main(["verify", *there]) == 1
    assert f"{DOCUMENTS.shard('b')}: row 0: not valid gzip" in capsys.readouterr().out


def test_the_standard_variables_alone_reach_a_bucket(
    endpoint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    assert main(["verify", "s3://mill/empty"]) == 2
    assert "there is no finished partition" in capsys.readouterr().err


def test_a_damaged_lake_file_is_a_finding_of_the_whole_lake_only(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    whole.store.put("lake.json", b"")
    assert main(["verify", str(whole.root), "--all"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("WRONG  lake.json: it does not contain a lake's id (restore it from a copy; or")
    assert said[-1] == "8 of 8 ledgers proven, 1 findings"
    assert main(["verify", str(whole.root), "--asset", "sources"]) == 0


def test_links_to_nothing_and_fifos_are_findings(
    whole: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(whole.root)
    documents = "sources/pages/v0/documents/2024"
    (root / documents / "a.jsonl.gz").unlink()
    os.mkfifo(root / documents / "a.jsonl.gz")
    (root / documents / "zz.jsonl.gz").symlink_to(tmp_path / "gone")
    (root / "lake.json").unlink(missing_ok=True)
    os.mkfifo(root / "lake.json")
    (root / "releases").mkdir(exist_ok=True)
    os.mkfifo(root / "releases" / "one.json")
    assert main(["verify", str(root), "--all"]) == 1
    said = capsys.readouterr().out
    for path, what in (
        (f"{documents}/a.jsonl.gz", "a FIFO, not a file; remove it"),
        (f"{documents}/zz.jsonl.gz", f"a link to {tmp_path / 'gone'}: nothing is written or deleted behind it"),
        ("lake.json", "it does not contain a lake's id"),
        ("releases/one.json", "a FIFO, not a file; remove it"),
    ):
        assert f"WRONG  {path}: {what}" in said
    assert "proven " in said
