"""`verify LAKE`: proves from its bytes that a lake, or one asset of it, is as its ledgers say."""

import gc
import secrets
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gristmill.commands._shared.chosen_lake import lake_without_targets
from gristmill.commands._shared.terminal import add_lake_arguments, add_shelves_option, print_line, shelf_packages
from gristmill.errors import RecipeError
from gristmill.execution.finding import AuditedStore, Finding
from gristmill.execution.mend import repeat_arguments_in_mend
from gristmill.lake.address import place_of_ledger, raw_asset
from gristmill.lake.asset_kinds import EXPORT
from gristmill.lake.ledger.folders.pinned_upload import RELEASES
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.lake.store.open import Lake
from gristmill.pool import run_in_processes
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.verification.audit import audit_ledger, audit_reencoding, ledger_paths_to_audit
from gristmill.verification.derived_files.finished_slices import BEHIND
from gristmill.verification.raw import audit_raw, raw_snapshots_to_compare
from gristmill.verification.shard import ReadDocuments

if TYPE_CHECKING:
    from gristmill.derivation.partitions import Derived

HELP = "prove a lake from its bytes alone; exit code 1 if it differs from its ledgers"

SHARES = {
    "reconvert": "convert this share of the raw data again",
    "retag": "label this share of the documents again",
    "remix": "select, edit, carry and dedupe this share of the documents again",
    "reencode": "tokenize this share of the token caches again, with the reference engine",
}
"""The options that derive a share of the shards again, and what each does."""

_CONTAINERS = 20_000
"""After so many new lists, tuples and objects Python looks for cycles. Rows form none, and each search took a while."""


class Audited(NamedTuple):
    """What an audit has shown.

    Attributes:
        path: path of what was audited: a ledger's path, or a raw snapshot.
        notes: lines for people about what is odd.
        findings: findings on what is wrong.
        encoded: the shards of a token cache that were tokenized again.
    """

    path: str
    notes: list[str]
    findings: list[Finding]
    encoded: "frozenset[Derived]" = frozenset()


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake_arguments(parser, alone=True)
    parser.add_argument(
        "--asset", default="", metavar="PREFIX", help="only assets below this prefix, such as sources/wiki/v0"
    )
    parser.add_argument("--all", action="store_true", help="continue after the first finding, and list all of them")
    for name, what in SHARES.items():
        parser.add_argument(f"--{name}", type=_parse_share, default=0.0, metavar="SHARE", help=f"{what}; 1 means all")
    parser.add_argument(
        "--seed",
        type=int,
        default=None,
        metavar="NUMBER",
        help="of the draw of these shards; by default it is drawn too, and shown",
    )
    parser.add_argument(
        "--raw",
        action="store_true",
        help="compare the raw objects with what the ledgers say they were: lost, changed, or new ones are findings;"
        " with --asset all are listed, as with --all",
    )
    add_shelves_option(parser)
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes (%(default)s)")


def _parse_share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ArgumentTypeError(f"{text}: give a share from 0 to 1")
    return share


def run(arguments: Namespace) -> int:
    """Verifies each partition, and shows a line for it. Returns 1 if there is a finding, else 0.

    Raises:
        RecipeError: there is no ledger to verify, or no shard was derived again though that was asked for. An empty
            result must not pass as a proof.
        StoreError: the lake does not answer.
    """
    lake = lake_without_targets(arguments)
    arguments.all = arguments.all or (arguments.raw and bool(arguments.asset))
    lost: list[Finding] = []
    store = lake.store()
    # that there is no lake is told before that no recipes are named
    next(iter(store.list(RELEASES, tell=lambda _: None)), None)
    shelves = shelf_packages(arguments)
    paths = ledger_paths_to_audit(store, arguments.asset, lambda note: print_line(f"note   {note}"), lost, shelves)
    for finding in lost:
        print_line(f"WRONG  {finding}")
    if lost and not arguments.all:
        return 1
    if not paths:
        below = f" below {arguments.asset}" if arguments.asset else ""
        raise RecipeError(f"{lake.url}: there is no finished partition{below}, so nothing to prove")
    samples = _samples_by_share(arguments)
    tally = _Tally(wrong=len(lost))
    what = "ledgers and raw snapshots" if arguments.raw else "ledgers"
    audits = _audits_to_run(lake, shelves, paths, samples.get("reencode"), arguments)
    for audited in run_in_processes(audits, arguments.workers):
        tally.proven |= set() if audited.findings else {audited.path}
        if not tally.add("proven", audited.path, audited.notes, audited.findings, arguments):
            before = f"{len(tally.proven)} of {len(audits)} {what} were proven before"
            print_line(f"stopped at the first finding; {before} (--all lists all)")
            return 1
        tally.derived |= audited.encoded
    if samples and not _derive_shards_again(lake, shelves, paths, samples, tally, arguments):
        print_line("stopped at the first finding (--all lists all)")
        return 1
    for finding in tally.behind:
        print_line(f"WRONG: behind  {finding}")
    print_line(f"{len(tally.proven)} of {len(audits)} {what} proven, {tally.wrong} findings")
    return 1 if tally.wrong else 0


def _samples_by_share(arguments: Namespace) -> dict[str, ShardSample]:
    """The sample of each share that was given. They have one seed, so they draw the same shards of all assets."""
    given = {name: share for name in SHARES if (share := getattr(arguments, name))}
    seed = secrets.randbelow(1 << 32) if arguments.seed is None else arguments.seed % (1 << 64)
    if any(share < 1 for share in given.values()):
        print_line(f"note   the shards are drawn by --seed {seed}")
    return {name: ShardSample(share, seed) for name, share in given.items()}


@dataclass
class _Tally:
    """What the audits have shown so far.

    Attributes:
        wrong: number of findings.
        proven: the paths of the ledgers and raw snapshots without a finding.
        derived: the shards that were derived again.
        drawn: number of shards that were made again, or tokenized again.
        behind: the findings on indexes that lack finished slices.
    """

    wrong: int = 0
    proven: set[str] = field(default_factory=set)
    derived: "set[Derived]" = field(default_factory=set)
    drawn: int = 0
    behind: list[Finding] = field(default_factory=list)

    def add(
        self, word: str, path: str, notes: Sequence[str], findings: Sequence[Finding], arguments: Namespace
    ) -> bool:
        """Shows and counts what an audit has shown. Returns whether to go on."""
        for note in notes:
            print_line(f"note   {note}")
        print_line(f"WRONG  {path}" if findings else f"{word} {path}")
        for finding in findings:
            print_line(f"       {_repeat_typed_arguments(finding, arguments)}")
        self.behind += [finding for finding in findings if finding.what.startswith(BEHIND)]
        self.wrong += len(findings)
        return not self.wrong or bool(arguments.all)


def _derive_shards_again(
    lake: Lake,
    shelves: tuple[str, ...],
    paths: Sequence[str],
    samples: Mapping[str, ShardSample],
    tally: _Tally,
    arguments: Namespace,
) -> bool:
    """Derives shards again, and shows which share of the bytes follows from raw data. Returns whether all was done.

    Raises:
        RecipeError: no shard was derived again.
    """
    # only here, because it imports the steps of all stages
    from gristmill.derivation.derived_share import derived_share  # noqa: PLC0415
    from gristmill.derivation.tasks import derivation_tasks, derive_task, missing_note, not_as_declared, sound_shards  # noqa: PLC0415

    if missing := missing_note(lake, shelves, set(paths), arguments.asset):
        print_line(f"note   {missing}")
    wrong = set(paths) - tally.proven
    tally.drawn = len(tally.derived)
    lost: list[Finding] = []
    tasks = list(derivation_tasks(lake, shelves, paths, samples, lambda note: print_line(f"note   {note}"), lost))
    for finding in lost:
        print_line(f"WRONG  {_repeat_typed_arguments(finding, arguments)}")
    tally.wrong += len(lost)
    if lost and not arguments.all:
        return False
    works = [partial(derive_task, lake, shelves, task, first_only=not arguments.all) for task in tasks]
    for result in run_in_processes(works, arguments.workers):
        label = f"{result.task}: {result.drawn} shards"
        tally.proven -= result.unproven_ledgers
        if not tally.add("derived", label, result.notes, result.findings, arguments):
            return False
        tally.derived |= result.proven
        tally.drawn += result.drawn
    if not tally.drawn and not tally.wrong:
        raise RecipeError("no shard was derived again: give a larger share, or the --shelves that made this lake")
    other: list[Finding] = []
    wrong |= not_as_declared(lake, shelves, paths, lambda note: print_line(f"note   {note}"), other)
    for finding in other:
        print_line(f"WRONG  {_repeat_typed_arguments(finding, arguments)}")
    tally.wrong += len(other)
    whole = {path for path in paths if (at := place_of_ledger(path)) and at.kind is EXPORT} - wrong
    print_line(str(derived_share(AuditedStore(lake.store()), paths, sound_shards(tally.derived, wrong), whole)))
    return True


def _repeat_typed_arguments(finding: Finding, arguments: Namespace) -> Finding:
    """A finding whose mend can be typed as it is: it repeats --shelves and --option, if they were given."""
    shelves = () if arguments.shelves is None else ("--shelves", arguments.shelves)
    options = (word for option in arguments.option for word in ("--option", option))
    return repeat_arguments_in_mend(finding, (*shelves, *options))


def _audits_to_run(
    lake: Lake, shelves: tuple[str, ...], paths: Sequence[str], sample: ShardSample | None, arguments: Namespace
) -> list[Callable[[], Audited]]:
    """The audits to run, in order: of each ledger, then of each raw snapshot if asked for."""
    first_only = not arguments.all
    known = ReadDocuments()
    audits: list[Callable[[], Audited]] = [
        partial(_run_audit, lake, shelves, sample, path, known, first_only=first_only) for path in paths
    ]
    if arguments.raw:
        apart: dict[str, list[Finding]] = {}
        snapshots = raw_snapshots_to_compare(
            lake,
            read_catalogue(shelves).sources,
            arguments.asset,
            lambda name, finding: apart.setdefault(name, []).append(finding),
        )
        for name, findings in apart.items():
            audits.append(partial(_report_findings, raw_asset(name), findings[:1] if first_only else findings))
        if not snapshots and not apart:
            print_line(f"note   {arguments.asset or lake.url}: no raw data belong to it, so none were compared")
        for source, snapshot in snapshots:
            audits.append(partial(_audit_raw_snapshot, lake, shelves, source, snapshot, first_only=first_only))
    return audits


def _run_audit(
    lake: Lake,
    shelves: tuple[str, ...],
    sample: ShardSample | None,
    path: str,
    known: ReadDocuments,
    *,
    first_only: bool,
) -> Audited:
    gc.set_threshold(_CONTAINERS)
    notes: list[str] = []
    encoded: set[str] = set()
    findings = audit_ledger(lake.store(), path, notes.append, first_only=first_only, shelves=shelves, known=known)
    if sample and not findings:
        findings = audit_reencoding(
            lake.store(), path, sample, notes.append, encoded, first_only=first_only, shelves=shelves
        )
    at = place_of_ledger(path)
    return Audited(path, notes, findings, frozenset((at.asset, at.snapshot, name) for name in encoded if at))


def _report_findings(path: str, findings: list[Finding]) -> Audited:
    return Audited(path, [], findings)


def _audit_raw_snapshot(lake: Lake, shelves: tuple[str, ...], name: str, snapshot: str, *, first_only: bool) -> Audited:
    source = find_recipe("sources", Source, shelves, name)
    findings = audit_raw(lake, source, snapshot, first_only=first_only)
    return Audited(f"{raw_asset(name)} ({snapshot})", [], findings)
