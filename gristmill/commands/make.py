"""`make [LAKE] [TARGET ...]`: makes what `plan` shows, in the same order, without Dagster.

A target is a source, a mix, a tokenizer, an attribute set, an export, `source/version`, `mix/tokenizer`, `mix/export`,
or the beginning of an address; without one, everything is made. What a target is made from is made first, if it is due.
Partitions that are up to date are left alone. If one cannot be made, those that are made from it wait, and the others
are made.

Exit codes: 0 if all is made; 1 if something failed, is refused or wrong, or was asked for by name and waits; 2 if the
command could not run; 3 if another process is making what it would make next, or has taken it over; 130 if it was
stopped by Ctrl-C or SIGTERM. What was finished is kept.
"""

import signal
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import FrameType

from gristmill.commands._shared.progress import Progress
from gristmill.commands._shared.targets import add_target_arguments, add_vanished_option, read_target_arguments
from gristmill.commands._shared.terminal import (
    add_bucket_options,
    add_engine_options,
    add_shelves_option,
    lake_of_arguments,
    open_engine_of_arguments,
    print_error,
    print_line,
)
from gristmill.commands.plan import show_estimate, show_plan
from gristmill.errors import AtWork, Superseded
from gristmill.lake.ledger.model import Ledger
from gristmill.pipeline.estimate import Estimator
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.reports.sizes import number_and_noun

HELP = "make what is missing, in order: documents, attribute sets, mixes, tokenizers, tokens"

STOPPED = 130
"""Exit code of a command that was stopped: 128 and the number of SIGINT, as shells have it."""

AT_WORK = 3
"""Exit code of a command that left the work to another run."""

STOPS = (signal.SIGINT, signal.SIGTERM)


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_target_arguments(parser)
    add_vanished_option(parser)
    add_bucket_options(parser)
    parser.add_argument("--dry-run", action="store_true", help="show what would be made, as `plan` does; make nothing")
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="show bytes to read and to write, and CPU hours, by what earlier runs have measured; make nothing",
    )
    parser.add_argument(
        "--take-over",
        action="store_true",
        help="go on in the place of another process that is making the same, which then stops at its next shard",
    )
    parser.set_defaults(all=False, json=False)
    add_shelves_option(parser)
    add_engine_options(parser)


def run(arguments: Namespace) -> int:
    """Makes the targets, and shows a line for each partition. Returns the exit code.

    Raises:
        RecipeError: a word is no target, or a recipe is wrong.
        StoreError: the lake does not answer. Partitions that were made before are kept.
    """
    shelves, catalogue, targets = read_target_arguments(arguments)
    planner = Planner(catalogue, shelves, lake_of_arguments(arguments), targets, arguments.vanished)
    planner.check_something()
    if arguments.estimate:
        return show_estimate(planner, Estimator(lake_of_arguments(arguments).store(), catalogue))
    if arguments.dry_run:
        return show_plan(planner, catalogue, lambda _: True, arguments)
    progress = Progress()
    with closing(open_engine_of_arguments(arguments)) as engine, _stopped_by_signals():
        maker = Maker(planner, lake_of_arguments(arguments), engine, progress, arguments.take_over)
        try:
            for ledger in maker.run():
                progress(_made_line(ledger))
        except KeyboardInterrupt:
            progress.end()
            for line in (*maker.report_kept(), "stopped; the same command goes on from here"):
                print_error(line)
            return STOPPED
        except (AtWork, Superseded) as error:
            progress.end()
            for line in (*maker.report_kept(), str(error)):
                print_error(line)
            return AT_WORK
    progress.end()
    return _report_made(maker)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Lets SIGTERM stop the command like Ctrl-C. Later signals are ignored, so that the workers are ended first."""

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a signal handler
        for each in STOPS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [signal.signal(each, stop) for each in STOPS]
    try:
        yield
    finally:
        for each, handler in zip(STOPS, before, strict=True):
            signal.signal(each, handler)


def _made_line(ledger: Ledger) -> str:
    totals = ledger.totals
    dropped = ", ".join(f"{reason}: {rows:,}" for reason, rows in sorted(ledger.dropped.items()))
    rows, shards = number_and_noun(totals["rows"], "row"), number_and_noun(totals["shards"], "shard")
    made = f"made {ledger.asset} ({ledger.snapshot}): {rows} in {shards}"
    return f"{made}; dropped {dropped}" if dropped else made


def _report_made(maker: Maker) -> int:
    """Says what was made, what waits, and what could not be made. Returns the exit code."""
    waiting = [each for each in maker.not_made if not each.counts]
    failures = [each for each in maker.not_made if each.counts]
    made = f"{number_and_noun(maker.made, 'partition')} made; " if maker.made else ""
    for each in waiting:
        print_line(str(each))
    if not failures:
        print_line(f"{made}everything {'else ' if waiting else ''}is up to date")
        return 0
    failed = [each for each in failures if each.error or each.prospect.state != "wait"]
    waits = [each for each in failures if each not in failed]
    print_line(f"{made}{len(failed)} failed{f', {len(waits)} must wait' if waits else ''}")
    for each in (*failed, *waits):
        print_error(str(each))
    return 1
