"""Backfills of a real Dagster: of one asset, of a chain, of several sources; from the UI, the command line, Python."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import (
    BLEND_DIARY,
    BLEND_INDEX,
    BLEND_LETTERS,
    COUNT_V0,
    COUNT_V1,
    DIARY_COUNT,
    DIARY_V0,
    JOURNEY,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    TINY_DIARY,
    TINY_INDEX,
    TINY_LETTERS,
    Result,
    Works,
    letter,
    letters,
)
from live import Live
from paths import ROOT
from steering import backfill_from_failure, counts, from_failure, job_backfill, of_backfill, pause, times
from testkit import packed

pytestmark = pytest.mark.live

TRUNCATED = packed(letters(4))[:-9]
TYPED = "dagster job backfill -w workspace.yaml -j diary_journey --partitions 2019,2025 --noprompt"
"""The example of docs/how-to/backfills.md."""
SLICES = (*JOURNEY, BLEND_LETTERS, TINY_LETTERS)
"""What becomes of a snapshot of the letters."""
PATIENCE = 1200
"""Seconds for what is a minute or two on a quiet machine."""
GRIND = re.compile(r"(\S+): (\d+) shards? to grind, (\d+) kept, \d+ gone")


def ground(result: Result) -> dict[str, tuple[int, int]]:
    """(ground, kept) shards of each asset of a run, as its plans said."""
    found = (GRIND.fullmatch(line) for line in result.said)
    return {match[1]: (int(match[2]), int(match[3])) for match in found if match}


@dataclass
class Post:
    """A deployment with letters and a diary, some of them poisoned; nothing is made by itself."""

    live: Live
    works: Works

    def poison(self, snapshot: str, source: str = "letters") -> None:
        """A truncated raw object, before or behind a good one."""
        self.works.raw(letters(1, 2, source=source), "a", snapshot, source)
        self.works.store.put(f"sources/{source}/raw/{snapshot}/b.jsonl.gz", TRUNCATED)

    def mend(self, snapshot: str, source: str = "letters") -> None:
        self.works.raw(letters(4, source=source), "b", snapshot, source)

    def result(self, run: str) -> Result:
        return Result(run, self.works.instance)

    def by_partition(self, backfill: str) -> dict[str, tuple[str, dict[str, tuple[int, int]]]]:
        """Status, and (ground, kept) by asset, of each run of a backfill, by source and partition; '' has none."""
        found: dict[str, tuple[str, dict[str, tuple[int, int]]]] = {}
        for run in of_backfill(self.live, backfill):
            words = [run["jobName"], *("/".join(each["path"]) for each in run["assetSelection"] or [])]
            source = next((each for each in ("letters", "diary") if any(each in word for word in words)), "")
            name = f"{source}/{run['tags'].get('dagster/partition', '')}"
            found[name] = (run["status"], ground(self.result(run["runId"])))
        return found


def shell(post: Post, *command: str) -> str:
    """What a person types in the checkout."""
    done = subprocess.run(
        command, cwd=ROOT, env=post.live.environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def post(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Post]:
    folder = tmp_path_factory.mktemp("backfills")
    (folder / "lake").mkdir()
    live = Live(folder, str(folder / "lake"))
    try:
        pause(live)
        with dg.DagsterInstance.from_config(str(live.home)) as instance:
            yield Post(live, Works(folder / "lake", instance))
    finally:
        live.close()


@pytest.fixture(scope="module")
def backfills(post: Post) -> dict[str, str]:
    """Three backfills at once: the daemon looks at them together, every 30 seconds.

    `blend`: both sources of the mix, from raw to tokens; letters of 2024 are finished, of 2022 poisoned.
    `one`: a single asset; its 2020 is poisoned. `job`: from a job's page, over what is finished.
    """
    post.works.raw([letter(1, f"UNLESS {post.works.root / 'mended'}"), letter(2)], "a", "2021")
    post.works.store.put("sources/letters/raw/2021/b.jsonl.gz", TRUNCATED)
    for snapshot in ("2023", "2024"):
        post.works.raw(letters(1, 2), "a", snapshot)
        post.works.raw(letters(4), "b", snapshot)
    post.poison("2022")
    post.works.raw(letters(7, 8, source="diary"), "a", "2025", "diary")
    post.works.raw(letters(7, 8, source="diary"), "a", "2019", "diary")
    post.poison("2020", "diary")
    post.works.arrive()
    post.works.whole("2024")
    script = shell(post, sys.executable, "-m", "scripts.backfill", *told(post))
    return {
        "blend": script.rpartition("/")[2].strip(),
        "one": post.live.backfill([DIARY_V0], ["2019", "2020"]),
        "job": job_backfill(post.live, "letters_journey", ["2024"]),
    }


def in_our_environment(typed: str) -> list[str]:
    """A command line with the program that lies beside this Python."""
    program, *rest = typed.split()
    return [str(Path(sys.executable).with_name(program)), *rest]


def told(post: Post) -> list[str]:
    """The example of docs/how-to/backfills.md, for this deployment."""
    return ["--url", f"http://127.0.0.1:{post.live.port}", "blend", "letters=2022,2023,2024", "diary=2025"]


def test_a_run_is_re_executed_from_where_it_failed_and_grinds_what_is_missing(
    post: Post, backfills: dict[str, str]
) -> None:
    assert backfills
    first = post.live.materialize(JOURNEY, "2021")
    assert post.live.finish(first, PATIENCE) == "FAILURE"
    assert ground(post.result(first)) == {LETTERS_V0: (2, 0)}
    post.mend("2021")
    second = from_failure(post.live, first)
    assert post.live.finish(second, PATIENCE) == "FAILURE"
    assert ground(post.result(second)) == {
        LETTERS_V0: (1, 1), COUNT_V0: (2, 0), LETTERS_V1: (2, 0), COUNT_V1: (2, 0), MOODY_V1: (2, 0)
    }  # fmt: skip
    assert set(post.result(second).made) == set(JOURNEY) - {MOODY_V1}
    (post.works.root / "mended").touch()
    third = from_failure(post.live, second)
    post.live.succeed(third, PATIENCE)
    done = post.result(third)
    assert ground(done) == {MOODY_V1: (1, 1)}
    assert {address: made.partition for address, made in done.made.items()} == {MOODY_V1: "2021"}
    assert done.checks[f"{MOODY_V1}:row_alignment"].passed


def test_one_failing_partition_stops_no_other(post: Post, backfills: dict[str, str]) -> None:
    assert post.live.backfilled(backfills["blend"], PATIENCE) == "COMPLETED_FAILED"
    runs = post.by_partition(backfills["blend"])
    assert {name: status for name, (status, _) in runs.items()} == {
        "letters/2022": "FAILURE", "letters/2023": "SUCCESS", "letters/2024": "SUCCESS", "diary/2025": "SUCCESS"
    }  # fmt: skip
    assert runs["letters/2022"][1] == {LETTERS_V0: (2, 0)}
    assert {runs["letters/2023"][1][address] for address in (*JOURNEY, BLEND_LETTERS)} == {(2, 0)}
    assert {runs["letters/2024"][1][address][0] for address in SLICES} == {0}
    assert set(runs["diary/2025"][1]) >= {DIARY_V0, DIARY_COUNT, BLEND_DIARY, TINY_DIARY}
    shown = counts(post.live, backfills["blend"])
    assert shown[LETTERS_V0] == shown[TINY_LETTERS] == (3, 2, 1)
    assert shown[TINY_DIARY] == (1, 1, 0)
    assert shown[BLEND_INDEX] == shown[TINY_INDEX] == (1, 0, 1)  # they would close over what failed
    assert post.works.ledger(LETTERS_V0, "2022") is None

    assert post.live.backfilled(backfills["one"], PATIENCE) == "COMPLETED_FAILED"
    assert post.by_partition(backfills["one"]) == {
        "diary/2019": ("SUCCESS", {DIARY_V0: (1, 0)}), "diary/2020": ("FAILURE", {DIARY_V0: (2, 0)})
    }  # fmt: skip
    failed = of_backfill(post.live, backfills["one"])[-1]
    [said] = post.result(failed["runId"]).failures.values()
    assert "sources/diary/raw/2020/b.jsonl.gz" in said

    assert post.live.backfilled(backfills["job"], PATIENCE) == "COMPLETED_SUCCESS"
    [(status, made)] = post.by_partition(backfills["job"]).values()
    assert (status, made[LETTERS_V1], made[MOODY_V1]) == ("SUCCESS", (0, 2), (0, 2))


def test_launched_again_after_mending_it_does_what_is_missing(post: Post, backfills: dict[str, str]) -> None:
    assert (
        post.live.backfilled(backfills["blend"], PATIENCE)
        == post.live.backfilled(backfills["one"], PATIENCE)
        == "COMPLETED_FAILED"
    )
    post.mend("2022")
    post.mend("2020", "diary")
    again = shell(post, sys.executable, "-m", "scripts.backfill", *told(post)).rpartition("/")[2].strip()
    rest = backfill_from_failure(post.live, backfills["one"])
    typed = re.search("Launched backfill job `(.*)`", shell(post, *in_our_environment(TYPED)))
    assert typed
    assert post.live.backfilled(rest, PATIENCE) == "COMPLETED_SUCCESS"
    assert post.by_partition(rest) == {"diary/2020": ("SUCCESS", {DIARY_V0: (1, 1)})}
    assert post.live.backfilled(again, PATIENCE) == "COMPLETED_SUCCESS"
    runs = post.by_partition(again)
    mended = runs["letters/2022"][1]
    assert {address: mended[address] for address in (*JOURNEY, BLEND_LETTERS)} == {
        address: (1, 1) if address == LETTERS_V0 else (2, 0) for address in (*JOURNEY, BLEND_LETTERS)
    }
    for name in ("letters/2023", "letters/2024", "diary/2025"):
        assert {fresh for fresh, _ in runs[name][1].values()} == {0}, name
    assert runs["/"][0] == "SUCCESS"
    index = json.loads(post.works.store.read(f"{BLEND_INDEX}/index.json"))
    assert sorted(f"{each['stream']}/{each['snapshot']}" for each in index["slices"]) == [
        "diary/2025", "letters/2022", "letters/2023", "letters/2024"
    ]  # fmt: skip
    by_hand = post.by_partition(typed[1])
    assert {name: (status, made[DIARY_V0]) for name, (status, made) in by_hand.items()} == {
        "diary/2019": ("SUCCESS", (0, 1)), "diary/2025": ("SUCCESS", (0, 1))
    }  # fmt: skip


def test_in_development_runs_go_one_after_another(post: Post, backfills: dict[str, str]) -> None:
    for backfill in backfills.values():
        assert post.live.backfilled(backfill, PATIENCE).startswith("COMPLETED")
    runs = [run["runId"] for run in post.live.runs() if run["status"] in {"SUCCESS", "FAILURE"}]
    spans = sorted(times(post.live, run) for run in runs)
    assert len(spans) >= 7
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
