"""What may happen to a run of a step, apart from its inputs: a claim that is lost, a newer ledger, another worker."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextvars import Context
from typing import Any

import msgspec
from steplake import Read, StepLake

from gristmill.errors import GristmillError, NewerSchema, Superseded
from gristmill.execution.runner import Inline
from gristmill.execution.step import Step, assemble_one, grind, make, plan, publish_one
from gristmill.execution.work import Done, Item, Job
from gristmill.lake.ledger.files import as_json

OTHER = "f" * 64
OF_RECIPES = ("recipe", "made_by")
"""Fields of a job that hold the digest of a recipe, which a worker compares with the recipe on its own shelf."""


def lose(lake: StepLake, step: Step) -> dict[str, str]:
    """Another run takes over the partitions of a step. Returns their objects and etags, as that run finds them."""
    for where in lake.made(step):  # by another process, which the fence of this one does not stop
        Context().run(lake.mill.store.put, where.claim_path, as_json({"token": "another"}))
    return objects_of(lake, step)


def objects_of(lake: StepLake, step: Step) -> dict[str, str]:
    """The objects of the partitions of a step, ledgers and receipts included, and their etags."""
    found: dict[str, str] = {}
    for where in lake.made(step):
        for folder in (*where.folders, where.receipts_folder):
            found |= {entry.path: entry.etag for entry in lake.mill.store.list(folder)}
        for path in (where.ledger, where.table, where.run):
            entry = lake.mill.store.head(path)
            found[path] = entry.etag if entry else ""
    return {path: etag for path, etag in found.items() if not path.rpartition("/")[2].startswith(".")}


def lost_before_grinding(lake: StepLake, step: Step) -> str:
    """What is wrong when the claim is lost before the first shard; empty if nothing is."""
    left: dict[str, str] = {}
    return _stopped(lake, step, lambda: lake.make(step, "lost", lambda: left.update(lose(lake, step))), left)


def lost_while_reading(lake: StepLake, step: Step, read: Read) -> str:
    """The same when the claim is lost while an input is read by the grinder; empty too if only the plan reads it."""
    left: dict[str, str] = {}
    grinding: list[bool] = []

    def seen(path: str) -> None:
        if grinding and not left and path == read.path:
            left.update(lose(lake, step))

    with lake.watched(seen):
        return _stopped(lake, step, lambda: lake.make(step, "lost", lambda: grinding.append(True)), left)


def lost_before_assembling(lake: StepLake, step: Step) -> str:
    """The same when all shards are ground."""
    left: dict[str, str] = {}

    def run() -> None:
        planned = plan(step, lake.mill.lake, "lost", force=True)
        grind(planned, Inline(), lake.mill.said.append)
        left.update(lose(lake, step))
        for asset in step.makes:
            assemble_one(step, planned, asset, {})

    return _stopped(lake, step, run, left)


def lost_before_publishing(lake: StepLake, step: Step) -> str:
    """The same when the checks have passed."""
    left: dict[str, str] = {}

    def run() -> None:
        planned = plan(step, lake.mill.lake, "lost", force=True)
        grind(planned, Inline(), lake.mill.said.append)
        assembled = {asset: assemble_one(step, planned, asset, {}) for asset in step.makes}
        left.update(lose(lake, step))
        for asset, each in assembled.items():
            publish_one(planned, asset, each)

    return _stopped(lake, step, run, left)


def _stopped(lake: StepLake, step: Step, run: Callable[[], object], left: dict[str, str]) -> str:
    """What is wrong with how a run ends that has lost its claim.

    Args:
        lake: the lake.
        step: the step.
        run: the run.
        left: filled as soon as the claim is lost: what was there then.
    """
    try:
        run()
    except Superseded:
        now = objects_of(lake, step)
        changed = sorted(path for path in now.keys() | left.keys() if now.get(path) != left.get(path))
        return f"written without a claim: {changed[0]}" if changed else ""
    except Exception as error:  # noqa: BLE001 - whatever it is
        return f"{type(error).__name__}: {error}"
    else:
        return "not stopped" if left else ""
    finally:
        lake.restore()


def newer_ledger(lake: StepLake, step: Step) -> str:
    """What is wrong when a newer Gristmill has written the ledger of an input; empty if nothing is."""
    for where in lake.inputs(step):
        head = json.loads(lake.mill.store.read(where.ledger))
        lake.mill.store.put(where.ledger, json.dumps({**head, "schema": 99}).encode())
        before = objects_of(lake, step)
        try:
            lake.make(step, "newer")
        except GristmillError as error:
            if where.ledger not in str(error) or not isinstance(error, NewerSchema):
                return f"{where.ledger}: {error}"
            if objects_of(lake, step) != before:
                return f"{where.ledger}: something was written"
        else:
            return f"{where.ledger}: not seen"
        finally:
            lake.restore()
    return ""


class _OtherWorker:
    """An engine whose workers have other recipes on their shelves than the run."""

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        spec = msgspec.Raw(json.dumps(_with_other(json.loads(bytes(job.spec)))).encode())
        yield from Inline().map(msgspec.structs.replace(job, spec=spec), items)


def _with_other(value: Any) -> Any:
    """JSON in which each digest of a recipe is another."""
    if isinstance(value, list):
        return [_with_other(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: OTHER if key in OF_RECIPES and isinstance(each, str) else _with_other(each) for key, each in value.items()
    }


def other_worker(lake: StepLake, step: Step) -> str:
    """What is wrong when a worker has another recipe than the run; empty if nothing is."""
    before = objects_of(lake, step)
    try:
        make(step, lake.mill.lake, _OtherWorker(), "other", lake.mill.said.append, force=True)
    except GristmillError as error:
        if "this worker has another recipe than the run" not in str(error):
            return str(error)
        return "" if objects_of(lake, step) == before else "something was written"
    else:
        return "not seen"
    finally:
        lake.restore()
