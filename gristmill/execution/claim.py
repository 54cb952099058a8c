"""The claim: it names the run that makes a partition. The newest claim wins; a run that lost its claim stops.

A run of `make` also names its process, and leaves a partition to a process of another `make` that still runs. A run of
Dagster never asks: its retries take over what they began. If all its steps are in one process, its claim names that, so
that what it leaves behind when it dies is known.

`gc` claims a partition while it deletes there (`gristmill.maintenance.gc_hold`). Every run leaves it alone until then.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple, NoReturn

import msgspec

from gristmill.errors import AtWork, Conflict, GristmillError, StoreError, Superseded, shorten
from gristmill.lake.address import Place
from gristmill.lake.address import place as place_of
from gristmill.lake.asset_kinds import kinds_made_from, names_in_asset_address
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.walk import folders_matching_pattern
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.process import Process, this_process

GC = "gc"
"""The work of a claim that `gc` holds."""
TRIES = 20
"""Tries to write a claim over that of another run: each fails if a run wrote its own at the same moment."""


class Claim(Process, frozen=True, omit_defaults=True):
    """The content of a claim.

    Attributes:
        token: names the run. The fields of its process are empty for a run of Dagster.
        ended: `yes` if a run of `make` has given up.
        work: GC if `gc` holds it, which deletes there; empty: a run makes the partition.
        within: process of a run of Dagster, if all its steps are in that one; None: it is not known.
    """

    token: str | None = None
    ended: str = ""
    work: str = ""
    within: Process | None = None


class Claimant(NamedTuple):
    """Who claims partitions for a run.

    Attributes:
        process: its process.
        takes_over: whether it also claims what a process holds that runs, or of which that cannot be seen.
        asks: whether it asks who holds a claim. A run of Dagster does not.
    """

    process: Process
    takes_over: bool = False
    asks: bool = True

    @classmethod
    def of_this_process(cls, *, takes_over: bool) -> "Claimant":
        """The claimant for runs of this process, which works from now on."""
        return cls(this_process(), takes_over)

    @classmethod
    def of_dagster(cls, *, in_process: bool) -> "Claimant | None":
        """The claimant for a run of Dagster whose steps are all in this process; None if they have processes of their
        own.
        """
        return cls(this_process(), asks=False) if in_process else None


def write_claim(
    store: Store, place: Place, token: str, by: Claimant | None = None, earlier: Sequence[Place] = ()
) -> None:
    """Claims a partition for a run.

    Args:
        store: the lake.
        place: the partition.
        token: names the run.
        by: claimant of the run; None: the claim is taken without asking, and names no process.
        earlier: partitions of the same step that the run has claimed. If it has lost one, it takes no further one: of
            two runs at once one gets them all, and not each some.

    Raises:
        AtWork: the partition is left to another process.
        Superseded: a newer run has claimed an earlier one.
    """
    what = f"{place.asset} ({place.snapshot})"

    def still() -> None:
        for each in earlier:
            check_claim(store, each, token)

    if by is None or not by.asks:
        take_over_claim(
            store, place.claim_path, as_json(Claim(token=token, within=by.process if by else None)), what, still=still
        )
        return
    process = by.process
    claim = Claim(**msgspec.structs.asdict(process), token=token)
    if by.takes_over:
        take_over_claim(store, place.claim_path, as_json(claim), what, unseen=True, still=still)
        return
    stored = store.read_tagged(place.claim_path)
    _leave_to_holder(what, stored, process)
    if stored is not None:
        still()
    try:
        store.put_if(place.claim_path, as_json(claim), stored[1] if stored else None)
    except Conflict:  # another run was first, at this moment
        _leave_to_holder(what, store.read_tagged(place.claim_path), process)
        raise


def take_over_claim(
    store: Store, path: str, data: bytes, what: str, *, unseen: bool = False, still: Callable[[], None] = lambda: None
) -> None:
    """Writes a claim over that of any run, but leaves the place to a `gc` that deletes there.

    Args:
        store: the lake.
        path: the path of the claim, or of another object that says that a run works there.
        data: the bytes of the claim.
        what: the place, for the message.
        unseen: whether it is also taken from a `gc` of which it cannot be seen here whether it still runs.
        still: function that raises if this run may not take it from another any more; called after the look at the
            other's claim.

    Raises:
        AtWork: `gc` is deleting there.
        Conflict: others wrote it at each of TRIES tries, or the bucket's etags are wrong.
    """
    for tries in range(TRIES, 0, -1):
        stored = store.read_tagged(path)
        if stored is not None:
            _leave_to_gc(what, parse_claim(stored[0]), unseen=unseen)
            still()
        try:
            store.put_if(path, data, stored[1] if stored else None)
        except Conflict:  # another was first, at this moment: it may be gc
            if tries == 1:
                raise
        else:
            return


def _leave_to_gc(what: str, holder: Claim | None, *, unseen: bool = False) -> None:
    if holder is None or holder.work != GC:
        return
    runs = holder.runs(this_process())
    if runs or (runs is None and not unseen):
        mend = "" if runs else ". It cannot be seen from here whether it still runs: if not, run `gristmill gc` again"
        raise AtWork(
            f"{what}: gc ({holder}) has been removing what is no longer in use there since {shorten(holder.since)}."
            f" Wait until it ends{mend}"
        )


def _leave_to_holder(what: str, stored: tuple[bytes, str] | None, process: Process) -> None:
    holder = parse_claim(stored[0]) if stored else None
    _leave_to_gc(what, holder)
    if holder is None or not holder.pid or holder.is_same(process):
        return
    runs = holder.runs(process)
    if runs is not False:
        unseen = "" if runs else "; it cannot be seen from here whether that still runs"
        raise AtWork(
            f"{what}: {holder} has been making it since {shorten(holder.since)}{unseen}. Wait"
            " until it ends, or add --take-over to go on in its place: it then stops at its next shard"
        )


@contextmanager
def release_claims(store: Store, assets: Iterable[str], snapshot: str, token: str) -> Iterator[None]:
    """Takes the process out of claims that this run still holds at the end: it has given up, and the process lives on.

    These claims themselves stay, because the receipts need an owner. The next run takes them without asking.

    Args:
        store: the lake.
        assets: addresses of the assets that the run makes.
        snapshot: key of their partitions.
        token: token of this run.
    """
    try:
        yield
    finally:
        for place in (place_of(asset, snapshot) for asset in assets):
            with suppress(StoreError):  # another run took it at this moment, or the lake does not answer
                stored = store.read_tagged(place.claim_path)
                if stored is not None and _token_of_claim(stored[0]) == token:
                    store.put_if(place.claim_path, as_json(Claim(token=token, ended="yes")), stored[1])


def has_leftovers(store: Store, place: Place) -> bool:
    """Whether a run has left something beside a ledger: it was killed, has given up, or lost its claim.

    A run writes its claim first, and removes it last. So no run needs files that are there without a claim. A late
    worker of a superseded run has left them, such as a receipt. A claim of Dagster may name no process: then nobody
    knows whether its run is at work.

    Args:
        store: the lake.
        place: a partition with files beside its ledger.
    """
    stored = store.read_tagged(place.claim_path)
    if stored is None:
        return True
    claim = parse_claim(stored[0])
    if claim is None:
        return False
    holder = claim if claim.pid else claim.within
    return bool(claim.ended) or (holder is not None and holder.runs(this_process()) is False)


def is_claimed_by_run(store: Store, path: str) -> bool:
    """Whether the claim of a run is there, at work or killed. A claim of `gc` does not count.

    Args:
        store: the lake.
        path: the path of the claim.
    """
    stored = store.read_tagged(path)
    claim = parse_claim(stored[0]) if stored else None
    return stored is not None and (claim is None or claim.work != GC)


def claim_token(store: Store, place: Place) -> str | None:
    """The token of the run that holds the claim; None if there is no claim."""
    stored = store.read_tagged(place.claim_path)
    return _token_of_claim(stored[0]) if stored else None


def has_claim(store: Store, place: Place, token: str) -> bool:
    """Whether a run still has its claim.

    Args:
        store: the lake.
        place: the partition.
        token: the token of the run.
    """
    return claim_token(store, place) == token


def _token_of_claim(data: bytes) -> str | None:
    claim = parse_claim(data)
    return claim.token if claim else None


def parse_claim(data: bytes) -> Claim | None:
    """A claim, decoded from its stored bytes; None if they cannot be decoded."""
    try:
        return msgspec.json.decode(data, type=Claim)
    except NOT_DECODED:  # a broken file belongs to no run
        return None


def others_at_work(store: Store, place: Place, token: str) -> bool:
    """Whether another run may be reading a partition: it holds a claim on something that may be made from it.

    That is any partition of the same snapshot key and of the same source, of a kind that the table of kinds makes from
    this kind. If a run dies, its claim stays. Cleanup of this snapshot is postponed until that partition is made again.

    Args:
        store: the lake.
        place: the partition.
        token: token of this run, whose own claims do not count.
    """
    for path in _claims_downstream(store, place):
        stored = store.read_tagged(path) if path != place.claim_path else None
        if stored is not None and _token_of_claim(stored[0]) != token:
            return True
    return False


def _claims_downstream(store: Store, place: Place) -> Iterator[str]:
    """Paths of the claims of all partitions that may be made from this one, by the ledger folders that exist."""
    names = {"snapshot": place.snapshot}
    if "source" in names_in_asset_address(place.asset):
        names["source"] = names_in_asset_address(place.asset)["source"]
    for kind in kinds_made_from(place.kind):
        for ledger in folders_matching_pattern(store, kind.ledger, **names):
            yield f"{ledger.removesuffix('.json')}.receipts/.claim"


def check_claim(store: Store, place: Place, token: str) -> None:
    """Stops a run whose partition another run has claimed.

    Raises:
        Superseded: a newer run claimed the partition, or has finished it already.
    """
    stored = store.read_tagged(place.claim_path)
    claim = parse_claim(stored[0]) if stored else None
    if claim is None or claim.token != token:
        raise superseded_error(place, claim)


def superseded_error(place: Place, claim: Claim | None = None) -> Superseded:
    """The error of a run whose partition another run has claimed.

    Args:
        place: the partition.
        claim: claim of the newer run, if it is known.
    """
    who = f": the newer one is {claim}" if claim and claim.pid else ""
    return Superseded(f"{place.asset} ({place.snapshot}): a newer run has taken it over; this one stops here{who}")


def error_or_superseded(store: Store, place: Place, token: str, error: GristmillError) -> GristmillError:
    """The error of a run that failed: Superseded if the store failed it because another run took its claim.

    The other run removes and replaces what this one was about to read or write.

    Args:
        store: the lake.
        place: a partition that the run has claimed. If its claim is gone, the other run has finished already.
        token: the token of this run.
        error: the error that ended it.
    """
    if not isinstance(error, StoreError) or isinstance(error, Superseded | AtWork):
        return error
    with suppress(StoreError):  # a lake that does not answer is the error itself
        stored = store.read_tagged(place.claim_path)
        holder = parse_claim(stored[0]) if stored else None
        if stored is None:
            next(iter(store.list(place.claim_path)), None)  # a lake that is gone has no claims either
        if holder is None or holder.token != token:
            return superseded_error(place, holder)
    return error


def raise_error_or_superseded(store: Store, places: Iterable[Place], token: str, error: GristmillError) -> NoReturn:
    """Raises Superseded if an error of a run means that it has lost a claim; else the error. See error_or_superseded().

    Args:
        store: the lake.
        places: the partitions that the run has claimed before.
        token: the token of this run.
        error: the error that ended it.

    Raises:
        Superseded: another run has taken a claim over.
        GristmillError: none has: the error as it is.
    """
    for place in places:
        named = error_or_superseded(store, place, token, error)
        if named is not error:
            raise named from error
    raise error
