"""One step of the small lake as a process of its own: `python one_step.py LAKE STEP WORKERS [DIE]`.

Says each phase that it enters, so that whoever kills it knows where it was. With DIE it kills itself before its
DIE-th change of the lake's folder: that reaches every state that a killed run can leave behind there. At its end it
says the phase of each change that it made.
"""

import json
import os
import signal
import sys
import traceback
import uuid
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import TOKENIZER, even

from gristmill.__main__ import main as command
from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.engines.local import LocalPool
from gristmill.errors import DataError, GristmillError, StoreError
from gristmill.execution.runner import Inline, raise_grind_failures
from gristmill.execution.step import Step, assemble_one, grind, plan, publish_one
from gristmill.execution.work import Engine
from gristmill.recipes.export import Export, Oscar
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.export.index import index_export
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.index import write_mix_index
from gristmill.stages.mixing.step import revision_step, stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer

EXPORTS = {
    "export": Export(name="oscar", mixes=("even",), format=Oscar()),
    "lines": Export(name="lines", mixes=("even",), format=EnergonJsonl(fields={"t": "text"}, file_bytes=5_000)),
    "tars": Export(name="tars", mixes=("even",), format=EnergonWebdataset(parts={"txt": "text"}, shard_samples=9)),
}
"""The steps that export the mix, by their names."""

STEPS = ("convert", "tag", "revise", "mix", *EXPORTS, "train", "cache", "index", "gc")
"""From raw to tokens, and then the parts go that nobody names."""

STORE_ERROR, DATA_ERROR = 3, 4
"""Exit codes: the lake did not answer, or somebody was faster; the bytes are wrong, or an input is not there yet."""

Say = Callable[[str], None]


def step_of(mill: Mill, name: str) -> Step:
    """The steps that are planned, ground and committed."""
    if name == "convert":
        return mill.conversion()
    if name == "tag":
        return mill.tagging("words-1", "characters-1")
    if name == "revise":
        return revision_step(mill.source(), "v1", SNAPSHOT, SHELVES)
    if name == "mix":
        return stream_step(even(), "pages", SNAPSHOT, SHELVES)
    if name in EXPORTS:
        return ExportStep(even(), "pages", EXPORTS[name], SNAPSHOT, SHELVES)
    return TokenCacheStep(even(), "pages", TOKENIZER, SNAPSHOT, SHELVES)


def work(mill: Mill, name: str, engine: Engine, say: Say) -> None:
    """Does one step, or all of them."""
    if name == "all":
        for each in STEPS:
            work(mill, each, engine, say)
    elif name == "train":
        say("work")
        make_tokenizer(mill.store, TOKENIZER, mill.said.append)
    elif name == "index":
        say("work")
        sources, known = {"pages": mill.source()}, {"pages": [SNAPSHOT]}
        write_mix_index(mill.store, even(), sources, known)
        index_cache(mill.store, even(), TOKENIZER, sources, known)
        for export in EXPORTS.values():
            index_export(mill.store, even(), export, sources, known)
    elif name == "gc":
        say("work")
        with redirect_stdout(StringIO()):
            code = command(["gc", mill.lake.url, *(f"--option={k}={v}" for k, v in mill.lake.options.items())])
        if code:
            raise StoreError("gc did not end well")
    else:
        _make(mill, step_of(mill, name), engine, say)


def _make(mill: Mill, step: Step, engine: Engine, say: Say) -> None:
    say("plan")
    planned = plan(step, mill.lake, uuid.uuid4().hex)
    say("grind")
    raise_grind_failures(grind(planned, engine, mill.said.append).failed, planned.items)
    for partition in planned.partitions:
        asset = partition.place.asset
        say("assemble")
        assembled = assemble_one(step, planned, asset, {})
        say("publish")
        publish_one(planned, asset, assembled)


class Changes:
    """Watches this process change the lake's folder, and ends it before one of the changes.

    Args:
        root: the lake's folder.
        die: the number of the change that it does not live to make, from 1; 0: none.
    """

    def __init__(self, root: str, die: int) -> None:
        self._root, self._die = root, die
        self.phase = ""
        self.phases: list[str] = []
        sys.addaudithook(self._look)

    def _look(self, event: str, arguments: tuple[object, ...]) -> None:
        at = {"os.rename": 2, "os.remove": 1, "os.mkdir": 2, "os.rmdir": 1}.get(event, 0)
        opens = event == "open" and isinstance(arguments[2], int) and bool(arguments[2] & (os.O_RDWR | os.O_WRONLY))
        path = arguments[0]
        if (at or opens) and isinstance(path, str | Path) and self._is_below(str(path), arguments[at] if at else None):
            self.phases.append(self.phase)
            if len(self.phases) == self._die:
                os.kill(os.getpid(), signal.SIGKILL)

    def _is_below(self, path: str, folder: object) -> bool:
        """Whether a path is in the folder. The event of an open does not tell in which folder: then all are ours."""
        if Path(path).is_absolute() or folder == -1:
            return path.startswith(self._root)
        return folder is None or Path(f"/proc/self/fd/{folder}").resolve().is_relative_to(Path(self._root).resolve())


def main(url: str, name: str, workers: int, die: int) -> int:
    """The exit code."""
    bucket = {"endpoint": os.environ.get("AWS_ENDPOINT_URL", ""), "region": os.environ.get("AWS_REGION", "")}
    options = bucket if url.startswith("s3://") else {}  # a folder lake has none
    mill = Mill(Path(url), url, {key: value for key, value in options.items() if value})
    engine = LocalPool(workers, small=0) if workers else None
    changes = Changes(url, die)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(phase: str) -> None:
        changes.phase = phase
        out.write(f"{phase}\n")
        out.flush()

    try:
        work(mill, name, engine or Inline(), say)
    except GristmillError as error:
        traceback.print_exc()
        return STORE_ERROR if isinstance(error, StoreError) else DATA_ERROR if isinstance(error, DataError) else 1
    finally:
        if engine is not None:
            engine.close()
    say(f"changes {json.dumps(changes.phases)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 0))
