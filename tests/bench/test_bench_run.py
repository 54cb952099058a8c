import sys
from pathlib import Path

import pytest

from bench.harness.cost import BenchError, Cost, answer, machine, timed
from bench.harness.row import Row
from bench.run import main, run_all


def outcome(name: str, *, agree: bool = True) -> Row:
    return Row(name=name, ours=Cost(1.0, 1.0), bar="none", met=True, agree=agree)


def good(work: Path) -> list[Row]:
    assert list(work.iterdir()) == []
    (work / "left").touch()
    return [outcome("good")]


def wrong(work: Path) -> list[Row]:
    (work / "left").touch()
    return [outcome("wrong", agree=False)]


def broken(work: Path) -> list[Row]:
    raise BenchError(f"nothing in {work.name}")


BENCHES = {"good": good, "wrong": wrong, "broken": broken}


def test_every_bench_gets_a_fresh_folder(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "of an earlier time").touch()
    rows, trouble = run_all(["good"], BENCHES.__getitem__, tmp_path)
    assert ([row.name for row in rows], trouble) == (["good"], [])


def test_the_files_of_a_bench_are_kept_only_where_outputs_differ(tmp_path: Path) -> None:
    run_all(["good", "wrong"], BENCHES.__getitem__, tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("left")) == ["left"]
    assert (tmp_path / "wrong" / "left").exists()


def test_a_bench_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    rows, trouble = run_all(["broken", "good"], BENCHES.__getitem__, tmp_path)
    assert [row.name for row in rows] == ["good"]
    assert trouble == ["broken: nothing in broken"]


def test_an_unknown_bench_is_an_error_that_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["taging"])
    assert "no bench taging; there are tagging, one-pass, tokenizing" in capsys.readouterr().err


def test_what_a_program_costs_includes_what_it_starts(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])\nprint('[1, 2]')"
    cost = timed([sys.executable, "-c", code], tmp_path / "log")
    assert cost.cpu_s >= 0.3
    assert cost.wall_s >= 0.3
    assert answer(tmp_path / "log") == [1, 2]


def test_a_program_that_fails_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="ended with 3"):
        timed([sys.executable, "-c", "import sys; sys.exit(3)"], tmp_path / "log")


def test_the_machine_is_described_without_paths() -> None:
    assert set(machine()) == {"processor", "cores", "python", "packages", "load_before"}
