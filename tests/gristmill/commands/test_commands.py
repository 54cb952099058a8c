import logging
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from testkit import SHELVES, SNAPSHOT, Mill, packed
from wholelake import CACHE, DOCUMENTS, STREAM, WORDS, even, flip, make_cache, make_whole, reseal, table

from gristmill.__main__ import main
from gristmill.lake.ledger.files import dump, read_ledger
from gristmill.stages.mixing.step import stream_step

SHELF = ["--shelves", "gristmill,testshelf"]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clean") / "lake"
    make_whole(root)
    return root


@pytest.fixture
def mill(clean: Path, tmp_path: Path) -> Mill:
    shutil.copytree(clean, tmp_path / "lake")
    return Mill(tmp_path / "lake")


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An S3 server with the bucket `mill`; credentials and region stand in the environment."""
    boto3 = pytest.importorskip("boto3")
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    for name, value in [("ACCESS_KEY_ID", "nobody"), ("SECRET_ACCESS_KEY", "nothing"), ("REGION", "us-east-1")]:
        monkeypatch.setenv(f"AWS_{name}", value)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    boto3.Session().client("s3", endpoint_url=url, region_name="us-east-1").create_bucket(Bucket="mill")
    yield url
    server.stop()


def test_a_clean_lake_is_proven_and_the_exit_code_is_0(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(mill.root)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "proven sources/pages/v0/ledgers/documents/2024.json"
    assert said[-1] == "7 of 7 ledgers proven, 0 findings"
    assert len(said) == 8


def test_the_first_lie_is_named_and_the_exit_code_is_1(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    path = WORDS.shard("b")
    rows = mill.lines(path)
    mill.store.put(path, packed([*rows[:2], rows[3], rows[2], *rows[4:]]))
    flip(mill, STREAM.shard("a"))
    assert main(["verify", str(mill.root)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[2] == "WRONG  sources/pages/v0/ledgers/attributes/words-1/2024.json"
    assert said[3].startswith(f"       {path}: row 2: id 'doc-00023' (source 'pages'), but {DOCUMENTS.shard('b')} has")
    assert said[4] == "stopped at the first finding; 2 of 7 ledgers were proven before (--all lists all)"
    assert len(said) == 5


@pytest.mark.parametrize("workers", ["1", "2"])
def test_all_lies_are_listed_when_asked_for(mill: Mill, capsys: pytest.CaptureFixture[str], workers: str) -> None:
    for where in (WORDS, STREAM):
        flip(mill, where.shard("a"))
    assert main(["verify", str(mill.root), "--all", "--workers", workers]) == 1
    said = capsys.readouterr().out
    assert re.findall("WRONG  (.+)", said) == [
        "sources/pages/v0/ledgers/attributes/words-1/2024.json",
        "mixes/even/ledgers/pages/2024.json",
    ]
    assert "5 of 7 ledgers proven, " in said


def test_one_asset_is_verified_by_its_address(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    flip(mill, STREAM.shard("a"))
    assert main(["verify", str(mill.root), "--asset", "sources/pages"]) == 0
    assert capsys.readouterr().out.endswith("4 of 4 ledgers proven, 0 findings\n")


def test_nothing_to_verify_is_no_proof(mill: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(mill.root), "--asset", "sources/other"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["verify", str(tmp_path / "nowhere")]) == 2
    assert "there is no lake" in capsys.readouterr().err


def test_usage_errors_exit_with_2(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["grind"])
    assert main(["verify", str(mill.root), "--option", "endpoint"]) == 2
    assert "--option endpoint: write KEY=VALUE" in capsys.readouterr().err


def test_the_command_line_is_a_module(mill: Mill) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gristmill", "verify", str(mill.root / "missing")],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_a_sample_of_a_version_shows_rules_reasons_values_and_texts(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", str(mill.root), "pages/v1", *SHELF]) == 0
    said = capsys.readouterr().out
    assert said.startswith("sources/pages/v1/documents (2024): 16 rows kept, 24 dropped\n")
    assert "  the counts, rule by rule, are those of its ledger\n" in said
    assert "  dropped by english (20 rows): the readers know no other language\n    rule: lang = 'en'\n" in said
    assert "  dropped by short (4 rows): one word says nothing\n" in said
    assert sorted(re.findall(r"(\S+ row \d+)  (\S+)  words_1__count=1.0\n      \| word\n", said)) == [
        ("a row 0", "doc-00000"),
        ("a row 10", "doc-00010"),
        ("b row 0", "doc-00020"),
        ("b row 10", "doc-00030"),
    ]
    assert len(re.findall(r"row \d+  doc-000\d[13579]  lang=fr\n", said)) == 10


def test_a_sample_of_a_mix_is_the_same_each_time_and_as_long_as_asked_for(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", str(mill.root), "even", "--rows", "3", *SHELF]) == 0
    first = capsys.readouterr().out
    assert first.count(" row ") == 6
    assert main(["sample", str(mill.root), "even", "--rows", "5", "--stream", "pages", *SHELF]) == 0
    more = capsys.readouterr().out
    assert set(re.findall(r"\S+ row \d+", first)) < set(re.findall(r"\S+ row \d+", more))


def test_counts_that_are_not_the_ledgers_are_told_with_exit_code_1(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = table(mill, STREAM)
    reseal(mill, STREAM, [msgspec.structs.replace(a, dropped={"by-four": 3, "other": 1}), b])
    assert main(["sample", str(mill.root), "even", *SHELF]) == 1
    assert (
        "the counts differ from its ledger: by-four 8, in the ledger 7; other 0, in the ledger 1;"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["odd"], "no 'odd' on this shelf; it has even"),
        (["even", "--stream", "x"], "has no stream 'x'"),
        (["even", "--snapshot", "1999"], "none of its slices is finished"),
        (["pages/v7"], "no version 'v7' is selected by rules; such versions: v1"),
        (["even", "--rows", "-1"], "--rows -1"),
    ],
)
def test_a_sample_of_what_is_not_there_exits_with_2(
    mill: Mill, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["sample", str(mill.root), *arguments, "--shelves", "testshelf"]) == 2
    assert said in capsys.readouterr().err


def test_a_ledger_of_another_recipe_is_not_sampled(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    head, _ = read_ledger(mill.store, STREAM)
    recipe = msgspec.structs.replace(head.recipe, parameters={**head.recipe.parameters, "rate": 0.5})
    mill.store.put(STREAM.ledger, dump(msgspec.structs.replace(head, recipe=recipe)))
    assert main(["sample", str(mill.root), "even", *SHELF]) == 2
    assert "rate was 0.5, is 1.0" in capsys.readouterr().err


def test_acquire_puts_raw_snapshots_and_an_example_of_a_takedown_and_keeps_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "new"
    assert main(["acquire", str(root), "installed"]) == 0
    said = capsys.readouterr().out
    written = re.search(r"sources/packages/raw/installed/: (\d+) objects written, 0 kept", said)
    assert written
    takedowns = root / "blocklists/takedowns.jsonl"
    assert takedowns.read_text() == '{"source":"stdlib","id":"this.py","reason":"example of a takedown request"}\n'
    takedowns.write_text("")
    assert main(["acquire", str(root), "installed"]) == 0
    said = capsys.readouterr().out
    assert f"0 objects written, {written[1]} kept" in said
    assert takedowns.read_text() == ""


def test_what_cannot_be_acquired_exits_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["acquire", str(tmp_path), "wikipedia"]) == 2
    assert "'wikipedia' cannot be acquired; choose from stdlib, packages, installed" in capsys.readouterr().err
    assert main(["acquire", str(tmp_path), "packages", "--requirements", str(tmp_path)]) == 2
    assert "there is no packages-<snapshot>.txt" in capsys.readouterr().err


def old_parts(mill: Mill) -> set[str]:
    """Changes a document and makes everything again; the folders of the parts that were replaced."""
    before = {folder for part in table(mill, CACHE) for folder in part.extra["folders"].values()}
    metadata = {"number": 24, "language": "en"}
    mill.raw("b.jsonl.gz", [{"id": "doc-00024", "text": "word word", "source": "pages", "metadata": metadata}])
    mill.convert()
    mill.tag("words-1", "characters-1")
    mill.revise()
    mill.make(stream_step(even(), "pages", SNAPSHOT, SHELVES))
    make_cache(mill)
    return before - {folder for part in table(mill, CACHE) for folder in part.extra["folders"].values()}


def objects(mill: Mill, folder: str) -> int:
    return len(list(mill.store.list(folder)))


def test_gc_of_a_lake_without_garbage_removes_nothing(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    before = mill.stamps()
    assert main(["gc", str(mill.root)]) == 0
    assert capsys.readouterr().out == "0 parts removed, 0 bytes\n"
    assert mill.stamps() == before


def test_gc_removes_the_parts_that_nobody_names_and_nothing_else(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    (old,) = old_parts(mill)
    before = mill.stamps()
    size = sum(entry.size for entry in mill.store.list(old))
    assert main(["gc", str(mill.root), "--dry-run"]) == 0
    assert f"would remove {old}: {objects(mill, old)} objects, {size:,} bytes" in capsys.readouterr().out
    assert mill.stamps() == before
    assert main(["gc", str(mill.root)]) == 0
    assert capsys.readouterr().out.endswith(f"1 parts removed, {size:,} bytes\n")
    assert mill.stamps() == {path: etag for path, etag in before.items() if not path.startswith(old)}
    assert main(["verify", str(mill.root)]) == 0


def test_gc_keeps_what_a_release_or_a_merged_ledger_names(mill: Mill) -> None:
    top = f"{CACHE.asset}/train/shard_ledger.json"
    merged = mill.store.read(top)
    (old,) = old_parts(mill)
    held = objects(mill, old)
    index = mill.store.read(top)
    mill.store.put(top, merged)
    assert main(["gc", str(mill.root)]) == 0
    assert objects(mill, old) == held
    mill.store.put(top, index)
    mill.store.put("releases/first.json", b'{"parts": ["' + old.replace("/", "\\/").encode() + b'"]}')
    assert main(["gc", str(mill.root)]) == 0
    assert objects(mill, old) == held
    mill.store.delete(["releases/first.json"])
    assert main(["gc", str(mill.root)]) == 0
    assert objects(mill, old) == 0


def test_gc_leaves_a_slice_alone_where_a_run_is_at_work(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    (old,) = old_parts(mill)
    mill.store.put(CACHE.claim, b'{"token":"another"}')
    assert main(["gc", str(mill.root)]) == 0
    said = capsys.readouterr().out
    assert f"{CACHE.asset} (2024): a run is at work there, or was killed: nothing of it is touched" in said
    assert objects(mill, old)


@pytest.mark.parametrize("path", ["releases/first.json", CACHE.ledger])
def test_gc_removes_nothing_while_a_ledger_or_a_release_cannot_be_read(
    mill: Mill, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    (old,) = old_parts(mill)
    mill.store.put(path, b"{")
    assert main(["gc", str(mill.root)]) == 2
    assert path in capsys.readouterr().err
    assert objects(mill, old)


def test_a_lake_in_a_bucket_is_verified(mill: Mill, endpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    bucket = Mill(mill.root, "s3://mill/lake", {"endpoint": endpoint})
    for entry in mill.store.list(""):
        bucket.store.put(entry.path, mill.store.read(entry.path))
    there = ["s3://mill/lake", "--option", f"endpoint={endpoint}"]
    assert main(["verify", *there]) == 0
    flip(bucket, DOCUMENTS.shard("b"))
    assert main(["verify", *there]) == 1
    assert f"{DOCUMENTS.shard('b')}: row 0: its sha256 is" in capsys.readouterr().out


def test_the_standard_variables_alone_reach_a_bucket(
    endpoint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    assert main(["verify", "s3://mill/empty"]) == 2
    assert "there is no finished partition" in capsys.readouterr().err
