"""`verify LAKE`: proves from its bytes that a lake, or one asset of it, is as its ledgers say."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context

from gristmill.commands._terminal import add_lake, lake_of, show
from gristmill.errors import RecipeError
from gristmill.execution.finding import Finding
from gristmill.lake.store.open import Lake
from gristmill.verification.audit import audit_ledger, audit_reencoding, audited_ledgers, headless

HELP = "prove a lake from its bytes alone; exit code 1 if it differs from its ledgers"

Audited = tuple[str, list[str], list[Finding]]
"""A ledger's path, notes, and findings."""


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake(parser, alone=True)
    parser.add_argument(
        "--asset", default="", metavar="PREFIX", help="only assets below this prefix, such as sources/wiki/v0"
    )
    parser.add_argument("--all", action="store_true", help="continue after the first finding, and list all of them")
    parser.add_argument(
        "--reencode",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="tokenize this share of the token caches again, with the reference engine",
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes (%(default)s)")


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ArgumentTypeError(f"{text}: give a share from 0 to 1")
    return share


def run(arguments: Namespace) -> int:
    """Verifies each partition, and shows a line for it. Returns 1 if there is a finding, else 0.

    Raises:
        RecipeError: there is no ledger to verify. An empty result must not pass as a proof.
        StoreError: the lake does not answer.
    """
    lake = lake_of(arguments)
    paths = audited_ledgers(lake.store(), arguments.asset)
    lost = headless(lake.store(), arguments.asset)
    for finding in lost:
        show(f"WRONG  {finding}")
    if lost and not arguments.all:
        return 1
    if not paths:
        below = f" below {arguments.asset}" if arguments.asset else ""
        raise RecipeError(f"{arguments.lake}: there is no finished partition{below}, so nothing to prove")
    wrong, proven = len(lost), 0
    for path, notes, findings in _audits(lake, paths, arguments):
        for note in notes:
            show(f"note   {note}")
        proven += not findings
        show(f"proven {path}" if not findings else f"WRONG  {path}")
        for finding in findings:
            show(f"       {finding}")
        wrong += len(findings)
        if wrong and not arguments.all:
            show(f"stopped at the first finding; {proven} of {len(paths)} ledgers were proven before (--all lists all)")
            return 1
    show(f"{proven} of {len(paths)} ledgers proven, {wrong} findings")
    return 1 if wrong else 0


def _audits(lake: Lake, paths: Sequence[str], arguments: Namespace) -> Iterator[Audited]:
    """The audit of each ledger, in the order of the paths."""
    workers, share, first_only = max(1, arguments.workers), arguments.reencode, not arguments.all
    if workers == 1:
        for path in paths:
            yield _audit(lake, path, share, first_only=first_only)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        under_way = [pool.submit(_audit, lake, path, share, first_only=first_only) for path in paths]
        try:
            yield from (future.result() for future in under_way)
        finally:
            _cancel(under_way)


def _cancel(futures: Sequence[Future[Audited]]) -> None:
    for future in futures:
        future.cancel()


def _audit(lake: Lake, path: str, share: float, *, first_only: bool) -> Audited:
    notes: list[str] = []
    findings = audit_ledger(lake.store(), path, notes.append, first_only=first_only)
    if share and not findings:
        findings = audit_reencoding(lake.store(), path, share, notes.append, first_only=first_only)
    return path, notes, findings
