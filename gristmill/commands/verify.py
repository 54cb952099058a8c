"""`verify LAKE`: proves from its bytes that a lake, or one asset of it, is as its ledgers say."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from gristmill.commands._shared.targets import chosen_lake
from gristmill.commands._shared.terminal import add_lake, add_shelves, shelves_of, show
from gristmill.errors import RecipeError
from gristmill.execution.finding import Finding
from gristmill.execution.mend import with_arguments
from gristmill.lake.address import raw_asset
from gristmill.lake.store.open import Lake
from gristmill.lake.store.plain_files import NoFile, Unlisted
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.shelf import find
from gristmill.recipes.source import Source
from gristmill.verification.audit import audit_ledger, audit_reencoding, audited_ledgers
from gristmill.verification.lake_file import lake_file_findings, release_findings
from gristmill.verification.raw import audit_raw, compared_snapshots

HELP = "prove a lake from its bytes alone; exit code 1 if it differs from its ledgers"

Audited = tuple[str, list[str], list[Finding]]
"""What was audited: a ledger's path, or a raw snapshot; notes, and findings."""


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
    parser.add_argument(
        "--raw",
        action="store_true",
        help="compare the raw objects with what the ledgers say they were: lost, changed, or new ones are findings",
    )
    add_shelves(parser)
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
    lake = chosen_lake(arguments)
    unfit: list[Unlisted] = []
    paths = audited_ledgers(lake.store(), arguments.asset, lambda note: show(f"note   {note}"), unfit.append)
    lost = [Finding(each.path, None, each.reason) for each in unfit if each.path.startswith(arguments.asset)]
    lost += [] if arguments.asset else [*lake_file_findings(lake.store()), *release_findings(lake.store())]
    for finding in lost:
        show(f"WRONG  {finding}")
    if lost and not arguments.all:
        return 1
    if not paths:
        below = f" below {arguments.asset}" if arguments.asset else ""
        raise RecipeError(f"{lake.url}: there is no finished partition{below}, so nothing to prove")
    wrong, proven = len(lost), 0
    what = "ledgers and raw snapshots" if arguments.raw else "ledgers"
    audits = _audits_of(lake, paths, arguments)
    for path, notes, findings in _run_all(audits, max(1, arguments.workers)):
        for note in notes:
            show(f"note   {note}")
        proven += not findings
        show(f"proven {path}" if not findings else f"WRONG  {path}")
        for finding in findings:
            show(f"       {_as_typed(finding, arguments)}")
        wrong += len(findings)
        if wrong and not arguments.all:
            show(f"stopped at the first finding; {proven} of {len(audits)} {what} were proven before (--all lists all)")
            return 1
    show(f"{proven} of {len(audits)} {what} proven, {wrong} findings")
    return 1 if wrong else 0


def _as_typed(finding: Finding, arguments: Namespace) -> Finding:
    """A finding whose mend can be typed as it is: it repeats --shelves and --option, if they were given."""
    shelves = () if arguments.shelves is None else ("--shelves", arguments.shelves)
    options = (word for option in arguments.option for word in ("--option", option))
    return with_arguments(finding, (*shelves, *options))


def _audits_of(lake: Lake, paths: Sequence[str], arguments: Namespace) -> list[Callable[[], Audited]]:
    """The audits to run, in order: of each ledger, then of each raw snapshot if asked for."""
    share, first_only = arguments.reencode, not arguments.all
    shelves = shelves_of(arguments)
    audits: list[Callable[[], Audited]] = [
        partial(_audit, lake, shelves, share, path, first_only=first_only) for path in paths
    ]
    if arguments.raw:
        apart: dict[str, list[Finding]] = {}
        snapshots = compared_snapshots(
            lake,
            read_catalogue(shelves).sources,
            arguments.asset,
            lambda name, finding: apart.setdefault(name, []).append(finding),
        )
        for name, findings in apart.items():
            audits.append(partial(_told, raw_asset(name), findings[:1] if first_only else findings))
        for source, snapshot in snapshots:
            audits.append(partial(_audit_raw, lake, shelves, source, snapshot, first_only=first_only))
    return audits


def _run_all(audits: Sequence[Callable[[], Audited]], workers: int) -> Iterator[Audited]:
    """The results of audits, in their order."""
    if workers == 1:
        yield from (audit() for audit in audits)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        under_way = [pool.submit(audit) for audit in audits]
        try:
            yield from (future.result() for future in under_way)
        finally:
            _cancel(under_way)


def _cancel(futures: Sequence[Future[Audited]]) -> None:
    for future in futures:
        future.cancel()


def _audit(lake: Lake, shelves: tuple[str, ...], share: float, path: str, *, first_only: bool) -> Audited:
    notes: list[str] = []
    try:
        findings = audit_ledger(lake.store(), path, notes.append, first_only=first_only, shelves=shelves)
        if share and not findings:
            findings = audit_reencoding(lake.store(), path, share, notes.append, first_only=first_only)
    except NoFile as error:
        findings = [Finding(error.path, None, error.reason)]
    return path, notes, findings


def _told(path: str, findings: list[Finding]) -> Audited:
    return path, [], findings


def _audit_raw(lake: Lake, shelves: tuple[str, ...], name: str, snapshot: str, *, first_only: bool) -> Audited:
    source = find("sources", Source, shelves, name)
    return raw_asset(name) + f" ({snapshot})", [], audit_raw(lake, source, snapshot, first_only=first_only)
