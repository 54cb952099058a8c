import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest
from testkit import Mill, make_documents

from gristmill.errors import RecipeError
from gristmill.execution.remote import ONE_CORE, RemoteJob, answers_of, grind_bytes, remote_job, worker_environment
from gristmill.execution.step import plan
from gristmill.execution.work import Done, Item, Job
from gristmill.lake.ledger.lake_id import LAKE_FILE, make_lake_id


@pytest.fixture(autouse=True)
def set_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `grind_bytes` would set in this process."""
    for name, value in ONE_CORE.items():
        monkeypatch.setenv(name, value)


def work(mill: Mill, *texts: str) -> tuple[Job, list[Item]]:
    """The planned work of the faulty tagger, a shard a text."""
    for number, text in enumerate(texts):
        (row,) = make_documents(1, start=number)
        row["text"] = text
        mill.raw(f"{chr(97 + number)}.jsonl.gz", [row])
    mill.convert()
    step = mill.tagging("faulty-1")
    planned = plan(step, mill.lake, "token")
    found = step.plan(mill.store)
    names = {target.place.asset: target.wants for target in found.targets}
    return planned.job, found.items(names, {})


def grind(job: bytes, item: Item) -> Done:
    (done,) = answers_of(grind_bytes(job, msgspec.json.encode([item])))
    return done


def refusal(job: Job, item: Item, **kit: str) -> str:
    """What a worker says to a process whose kit differs in this."""
    (failed,) = grind(msgspec.json.encode(RemoteJob(job, worker_environment(job.shelves) | kit)), item).outcome.failed
    assert failed.error == "RecipeError"
    return failed.message


def test_bytes_go_in_and_bytes_come_out(mill: Mill) -> None:
    job, (item,) = work(mill, "word")
    done = grind(remote_job(job), item)
    assert (done.name, done.outcome.failed) == ("a", ())
    assert mill.store.head(mill.attributes("faulty-1").shard("a")) is not None


def test_a_worker_with_other_packages_says_which(mill: Mill) -> None:
    job, (item,) = work(mill, "word")
    have = worker_environment(job.shelves)["isal"]
    assert f"it has isal {have}, not 0.1." in refusal(job, item, isal="0.1")
    assert "it has python 3." in refusal(job, item, python="2.7")


def test_a_worker_with_other_code_says_which(mill: Mill) -> None:
    job, (item,) = work(mill, "word")
    assert "it has gristmill " in refusal(job, item, gristmill="0000")
    assert "it has testshelf " in refusal(job, item, testshelf="0000")


def test_a_worker_without_a_shelf_says_what_to_put_where(mill: Mill) -> None:
    job, (item,) = work(mill, "word")
    job = msgspec.structs.replace(job, shelves=("gristmill", "nowhere"))
    said = refusal(job, item, nowhere="0000")
    assert "cannot import nowhere" in said
    assert "PYTHONPATH" in said


def test_a_worker_that_does_not_see_the_lake_says_so(mill: Mill) -> None:
    job, (item,) = work(mill, "word")
    far = msgspec.structs.replace(job.lake, url="/no/such/lake")
    assert "does not see the lake /no/such/lake" in refusal(msgspec.structs.replace(job, lake=far), item)


def test_a_worker_that_sees_another_lake_at_the_same_place_says_so(mill: Mill) -> None:
    job, (item,) = work(mill, "word")
    make_lake_id(mill.store)
    told = remote_job(job)
    mill.store.delete([LAKE_FILE])  # as in a folder where nothing is mounted, or something else
    (failed,) = grind(told, item).outcome.failed
    assert failed.message.endswith("mount at the same path")
    assert "or sees another there" in failed.message


def test_a_job_with_shelves_that_are_not_there_is_not_sent(mill: Mill) -> None:
    job, _ = work(mill, "word")
    with pytest.raises(RecipeError, match="nowhere: no such package"):
        remote_job(msgspec.structs.replace(job, shelves=("gristmill", "nowhere")))


@pytest.mark.slow
def test_a_changed_recipe_is_other_code(tmp_path: Path) -> None:
    (tmp_path / "ours" / "taggers").mkdir(parents=True)
    recipe = tmp_path / "ours" / "taggers" / "one.py"
    digests: list[str] = []
    for text in ("A = 1\n", "A = 1\n", "A = 2\n"):
        recipe.write_text(text)
        code = "from gristmill.execution.remote import worker_environment; print(worker_environment(('ours',))['ours'])"
        told = subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[3],
            env={"PYTHONPATH": f"{tmp_path}"},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.append(told.stdout)
    assert digests[0] == digests[1] != digests[2]
    assert len(digests[0].strip()) == 12


def test_a_process_keeps_the_digest_of_what_it_imported_whatever_shelves_come_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("early", "later"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("A = 1\n")
    before = worker_environment(("early",))["early"]
    (tmp_path / "early" / "__init__.py").write_text("A = 2\n")  # an upgrade, while the worker lives on
    assert worker_environment(("early", "later"))["early"] == before
    assert worker_environment(("later", "early"))["early"] == before


@pytest.mark.slow
def test_a_process_grinds_one_item_at_a_time_whatever_its_threads(mill: Mill) -> None:
    job, items = work(mill, "SLEEP", "SLEEP")
    told = remote_job(job)
    threads = [threading.Thread(target=grind, args=(told, item)) for item in items]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - started >= 1.0


def test_the_libraries_of_a_worker_start_no_threads_unless_told_to() -> None:
    code = (
        "import os, sys\nfrom gristmill.execution.remote import grind_bytes\n"
        "try: grind_bytes(b'', b'[]')\n"
        "finally: print(os.environ['RAYON_NUM_THREADS'], os.environ['OMP_NUM_THREADS'])"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[3],
        env={"OMP_NUM_THREADS": "4"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "1 4\n"
