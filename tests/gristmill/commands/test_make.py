"""`make`: raw to tokens without Dagster, with the engine and the lake of the environment."""

import json
import os
import platform
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from dagster_kit import BLEND_LETTERS, COUNT_V0, JOURNEY, LETTERS_V0, LETTERS_V1, TINY, TINY_LETTERS, letters
from testkit import Mill, packed

from gristmill.__main__ import main
from gristmill.lake.address import blocklist_path, place, raw_folder
from gristmill.stages.mixing.index import read_index


class Command:
    """Runs `make` over the lake that the environment names."""

    def __init__(self, mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
        self.mill = mill
        self._capsys = capsys

    def raw(self, numbers: Sequence[int], name: str = "a", snapshot: str = "2024") -> None:
        self.mill.raw(f"{name}.jsonl.gz", packed(letters(*numbers)), "letters", snapshot)

    def __call__(self, *arguments: str) -> tuple[int, list[str], str]:
        """Exit code, lines, and the error."""
        self._capsys.readouterr()
        code = main(["make", "-", *arguments])
        said = self._capsys.readouterr()
        return code, said.out.splitlines(), said.err


@pytest.fixture
def command(mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    for name, value in [("LAKE", str(mill.root)), ("SHELVES", "dagshelf"), ("ENGINE", "inline"), ("WORKERS", "1")]:
        monkeypatch.setenv(f"GRISTMILL_{name}", value)
    mill.store.put(blocklist_path("takedowns"), b"")
    return Command(mill, capsys)


def test_a_source_is_made_from_raw_to_its_sets_and_then_left_alone(command: Command) -> None:
    command.raw((1, 2, 3))
    command.raw((4, 5), "b")
    code, lines, _ = command("letters")
    assert code == 0
    assert lines[0] == f"{LETTERS_V0} (2024): never made"
    made = [line for line in lines if line.startswith("made ")]
    assert made[0] == f"made {LETTERS_V0} (2024): 5 rows in 2 shards"
    assert {line.split(" ")[1] for line in made} >= set(JOURNEY)
    assert lines[-1] == f"{len(made)} partitions made; everything is up to date"
    before = command.mill.stamps()
    assert command("letters") == (0, ["everything is up to date"], "")
    assert command.mill.stamps() == before
    assert main(["plan", "--source", "letters"]) == 1  # the mix is still to be made


def test_raw_data_that_people_removed_on_purpose_take_along_what_was_made_of_them(command: Command) -> None:
    command.raw((1, 2, 3))
    command.raw((4, 5), snapshot="2025")
    assert command("blend")[0] == 0
    raw = command.mill.root / "sources" / "letters" / "raw"
    (raw / "2024" / "a.jsonl.gz").unlink()
    code, _, error = command("blend")
    assert (code, "say so by `gristmill make --vanished SOURCE/SNAPSHOT`" in error) == (1, True)
    for wrong in ("letters/2025", "letters/2026", "2024"):
        only = f"--vanished {wrong}: no snapshot of this name was made and has no raw data now; these are: letters/2024"
        assert command("blend", "--vanished", wrong) == (2, [], f"{only}\n")
    beyond = "--vanished letters/2024: the targets do not reach this snapshot; leave them out"
    assert command("letters", "--snapshot", "2025", "--vanished", "letters/2024") == (2, [], f"{beyond}\n")
    before = command.mill.stamps()
    assert main(["plan", "-", "blend", "--vanished", "letters/2024"]) == 1
    assert command.mill.stamps() == before
    code, lines, error = command("blend", "--vanished", "letters/2024")
    assert (code, error) == (0, "")
    assert f"made {LETTERS_V0} (2024): 0 rows in 0 shards" in lines
    index = read_index(command.mill.store, "mixes/blend/index")
    assert index is not None
    assert {each.snapshot: each.totals["rows"] for each in index.slices} == {"2025": 2}
    assert command("blend")[1][-1] == "everything is up to date"


def test_plan_and_make_refuse_a_raw_name_that_no_store_reads_in_the_same_words(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRISTMILL_SHELVES", "testshelf")
    folder = raw_folder("notes", "2024")  # of a source with Hashed(3)
    (command.mill.root / folder).mkdir(parents=True)
    for name in ("a.txt", "a\\b.txt"):
        (command.mill.root / folder / name).write_bytes(b"1 word")
    why = "a name has no backslash, no NUL, and no part that is empty, '.' or '..'; rename the raw object"
    said = f"sources/notes/v0/documents (2024): {folder}a\\b.txt: {why}\n"
    assert main(["plan", "-", "--source", "notes"]) == 1
    assert f"wrong    {said}" in capsys.readouterr().out
    code, lines, error = command("notes")
    assert (code, f"{lines[0]}\n", error.count(said)) == (1, f"FAILED {said}", 1)


def test_only_the_snapshots_that_are_named_are_made(command: Command) -> None:
    command.raw((1, 2))
    command.raw((3, 4), snapshot="2025")
    assert command("letters", "--snapshot", "2025")[0] == 0
    assert command.mill.store.head(place(LETTERS_V0, "2025").ledger) is not None
    assert command.mill.store.head(place(LETTERS_V0, "2024").ledger) is None


def test_a_mix_is_made_from_raw_data_to_its_tokens_with_its_tokenizer(command: Command) -> None:
    command.raw((1, 2, 3))
    code, lines, _ = command("blend")
    assert code == 0
    made = [line.split(" ")[1] for line in lines if line.startswith("made ")]
    needed = [LETTERS_V0, COUNT_V0, LETTERS_V1]  # and no set that no rule of the mix names
    assert made == [*needed, BLEND_LETTERS, f"{TINY}:", TINY_LETTERS]
    assert lines[-1] == "8 partitions made; everything is up to date"  # with the two indexes
    index = read_index(command.mill.store, "token_caches/blend/tiny-1/index")
    assert index is not None
    assert [each.snapshot for each in index.slices] == ["2024"]
    assert command("blend") == (0, ["everything is up to date"], "")
    assert main(["plan", "-", "blend"]) == 0


def test_a_dry_run_is_the_plan_and_makes_nothing(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    command.raw((1, 2, 3))
    for words in ([], ["blend/tiny-1"], ["letters/v1", "--snapshot", "2024"]):
        code, lines, _ = command(*words, "--dry-run")
        assert main(["plan", "-", *words]) == code == 1
        assert capsys.readouterr().out.splitlines() == lines
        assert lines[0] == f"make     {LETTERS_V0} (2024): 1 to grind; never made"
    assert command.mill.store.head(place(LETTERS_V0, "2024").ledger) is None
    assert lines[-1] == "5 partitions: 1 make, 4 follow"


def test_the_lake_of_the_environment_is_the_default_and_a_folder_is_a_lake(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command.raw((1, 2, 3))
    monkeypatch.chdir(tmp_path)  # the lake is its folder `lake`
    monkeypatch.setenv("GRISTMILL_LAKE", "elsewhere")
    assert main(["make", "lake", "count-1"]) == 0
    assert main(["plan", "./lake", "count-1"]) == 0
    capsys.readouterr()
    assert main(["plan", "count-1"]) == 2  # in `elsewhere`
    assert "elsewhere" in capsys.readouterr().err


INDEX_FILES = (
    "mixes/blend/index/index.json",
    "mixes/blend/index/ledger.json",
    "token_caches/blend/tiny-1/index/data.yaml",
    "token_caches/blend/tiny-1/index/cache_catalog.json",
    "token_caches/blend/tiny-1/index/index.json",
    "token_caches/blend/tiny-1/index/ledger.json",
    "token_caches/blend/tiny-1/letters/train/shard_ledger.json",
)


@pytest.mark.slow
def test_an_index_that_is_wrong_is_seen_by_plan_and_verify_and_made_again(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.raw((1, 2, 3))
    command("letters", "blend")
    store, lake = command.mill.store, command.mill.tree()
    for path in INDEX_FILES:
        address = path.partition("/index/")[0].removesuffix("/letters/train/shard_ledger.json") + "/index"
        for damage in (None, b"{}"):
            store.delete([path]) if damage is None else store.put(path, damage)
            assert main(["plan", "--mix", "blend"]) == 1
            assert f"make     {address}: " in capsys.readouterr().out, path
            assert main(["verify"]) == 1
            assert f"python -m gristmill make {command.mill.root} mixes/blend`" in capsys.readouterr().out, path
            assert command("mixes/blend")[1][0].startswith(f"{address}: written (")
            assert main(["plan", "--mix", "blend"]) == 0
            assert command.mill.tree() == lake


@pytest.mark.slow
def test_takedowns_that_match_nothing_are_told_at_the_end(command: Command) -> None:
    command.raw((1, 2))
    entry = b'{"source":"letters","id":"lettre-1","reason":"asked"}\n'
    command.mill.store.put(blocklist_path("takedowns"), entry)
    note = "note: blocklists/takedowns.jsonl: 1 of 1 entries match no document: 'lettre-1' of letters; correct them"
    assert any(line.startswith(note) for line in command()[1][-3:])
    assert not any(line.startswith("note: ") for line in command("letters")[1])


def test_duplicate_ids_are_not_published_and_the_exit_code_is_1(command: Command) -> None:
    command.raw((1, 2))
    command.raw((2, 3), "b")
    code, lines, error = command("letters")
    assert code == 1
    assert lines[-1] == "1 failed, 4 must wait"
    assert error.startswith(f"{LETTERS_V0}: not published: ids_unique: 1 ids occur twice; the first: 'letter-2'")
    assert command.mill.store.head(place(LETTERS_V0, "2024").ledger) is None


def test_the_engine_of_the_environment_grinds_unless_another_is_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    command.raw((1, 2))
    monkeypatch.setenv("GRISTMILL_ENGINE", "dask")
    assert command("letters")[::2] == (
        2,
        "GRISTMILL_ENGINE_ADDRESS is ''; the engine `dask` needs tcp://host:8786 or tls://host:8786\n",
    )
    monkeypatch.setenv("GRISTMILL_ENGINE", "inline")
    assert command("letters", "--engine", "dask")[2].startswith("the engine's address is ''")
    assert command("letters", "--engine", "local", "--workers", "0")[2].startswith("--workers 0: give a number")
    assert command("letters", "--engine", "local", "--workers", "2")[0] == 0


def test_a_name_on_no_shelf_is_refused_with_the_known_ones(command: Command) -> None:
    code, _, error = command("letter")
    assert code == 2
    assert error.startswith("'letter' is on no shelf; sources: ")
    assert "letters" in error
    assert "mixes: blend" in error
    assert command("mixes/letters")[0] == 2


def test_an_estimate_says_what_is_not_measured_and_then_what_it_takes(command: Command) -> None:
    command.raw((1, 2, 3))
    code, lines, _ = command("letters", "--estimate")
    assert code == 1
    assert sizes_left_out(lines) == [
        "documents: 2 partitions, at least N to read; not measured yet",
        "attributes: 3 partitions, bytes to read not known before the inputs are made; not measured yet",
        "total: 5 partitions, at least N to read; not measured yet",
    ]
    assert command("letters")[0] == 0
    command.raw((4, 5, 6), snapshot="2025")
    code, lines, _ = command("letters", "--estimate")
    assert code == 1
    some = "N to read, N to write, N new, 0.00 CPU hours"
    assert sizes_left_out(lines) == [
        f"documents: 2 partitions, {some}",
        f"attributes: 3 partitions, {some}",
        f"total: 5 partitions, {some}",
    ]
    assert command("letters")[0] == 0
    assert command("letters", "--estimate") == (0, [], "")


def sizes_left_out(lines: list[str]) -> list[str]:
    """Lines with N for each size: a machine packs the same rows into more or fewer bytes."""
    return [re.sub(r"[\d.]+ (bytes|kB)", "N", line) for line in lines]


def tape(number: int) -> bytes:
    """A raw file of 400 KB that does not shrink, so that four of them are worth workers."""
    text = random.Random(number).randbytes(200_000).hex()
    return json.dumps({"id": f"tape-{number}", "text": text, "source": "tapes"}).encode() + b"\n"


def processes_of(session: int) -> list[int]:
    """The processes of a session that still run."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return found


def wait_for(what: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if what():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen in a minute")


class AtTheGate:
    """`make` of four files in a process of its own that grinds some, and then waits at a gate.

    Args:
        mill: has the lake.
        folder: for the gate.
        permits: how many shards pass the gate.
        workers: processes that grind; 0: the process itself.
    """

    receipts = "sources/tapes/v0/ledgers/documents/2024.receipts"

    def __init__(self, mill: Mill, folder: Path, permits: int, workers: int = 0) -> None:
        for each in range(4):
            mill.raw(f"{each}.jsonl", tape(each), "tapes")
        self.gate = folder / "gate"
        self.gate.mkdir()
        (self.gate / "permits").write_text(str(permits))
        self.command = [sys.executable, "-m", "gristmill", "make", str(mill.root), "tapes", "--shelves", "slowshelf"]
        self.command += ["--engine", "local", "--workers", str(workers)] if workers else ["--engine", "inline"]
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.program = subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.environment, "GATE": str(self.gate)},
            start_new_session=True,
        )
        receipts = mill.root / self.receipts
        wait_for(lambda: len(list(receipts.glob("[0-9]*.json"))) == permits)
        wait_for(lambda: len(processes_of(self.program.pid)) == 1 + workers)

    def again(self, *more: str) -> subprocess.CompletedProcess[str]:
        """The same command once more, in a process that no gate stops."""
        return subprocess.run([*self.command, *more], capture_output=True, text=True, check=False, env=self.environment)


@pytest.mark.slow
def test_a_second_make_names_who_works_there_and_one_that_takes_over_stops_the_first(
    mill: Mill, tmp_path: Path
) -> None:
    first = AtTheGate(mill, tmp_path, 1)
    second = first.again()
    assert second.returncode == 3
    (kept, told) = second.stderr.splitlines()
    assert kept == "0 partitions made"
    assert told.startswith(f"sources/tapes/v0/documents (2024): process {first.program.pid} on {platform.node()} has")
    assert "add --take-over to go on in its place" in told
    third = first.again("--take-over")
    assert (third.returncode, third.stderr) == (0, "")
    assert "1 shards have their receipts from an interrupted run" in third.stdout
    before = mill.stamps()
    (first.gate / "permits").write_text("4")
    _, said = first.program.communicate(timeout=60)
    assert first.program.returncode == 3
    assert "sources/tapes/v0/documents (2024): a newer run has taken it over" in said
    assert mill.stamps() == before


@pytest.mark.slow
def test_a_make_that_was_killed_is_taken_over_at_once(mill: Mill, tmp_path: Path) -> None:
    first = AtTheGate(mill, tmp_path, 2)
    first.program.kill()
    first.program.communicate()
    second = first.again()
    assert (second.returncode, second.stderr) == (0, "")
    assert "made sources/tapes/v0/documents (2024): 4 rows in 4 shards" in second.stdout


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_a_stopped_run_ends_quietly_with_its_workers_and_the_same_command_goes_on(
    mill: Mill, tmp_path: Path, number: signal.Signals
) -> None:
    first = AtTheGate(mill, tmp_path, 2, workers=2)
    program = first.program
    if number == signal.SIGINT:
        os.killpg(program.pid, number)  # as a terminal does
    else:
        program.send_signal(number)
    out, err = program.communicate(timeout=60)
    assert program.returncode == 130
    assert err.splitlines() == [
        "0 partitions made",
        "sources/tapes/v0/documents (2024): 2 shards are kept",
        "stopped; the same command goes on from here",
    ]
    assert out.splitlines()[0] == "sources/tapes/v0/documents (2024): never made"
    wait_for(lambda: processes_of(program.pid) == [])
    again = first.again()
    assert again.returncode == 0
    assert "never made; 2 shards have their receipts from an interrupted run" in again.stdout
    assert "made sources/tapes/v0/documents (2024): 4 rows in 4 shards" in again.stdout
    assert [entry.path for entry in mill.store.list("") if entry.path.endswith(".claim")] == []
