"""The claim: it names the run that makes a partition. The newest claim wins; a run that lost its claim stops."""

from collections.abc import Iterator

import msgspec

from gristmill.errors import Superseded
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import made_from, names_of
from gristmill.lake.ledger.walk import folders_like
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store


def claimed_by(store: Store, place: Place) -> str | None:
    """The token of the run that holds the claim; None if there is no claim."""
    stored = store.read_tagged(place.claim)
    return _token(stored[0]) if stored else None


def _token(data: bytes) -> str | None:
    try:
        return msgspec.json.decode(data, type=dict[str, str]).get("token")
    except NOT_DECODED:  # a broken file belongs to no run
        return None


def others_at_work(store: Store, place: Place, token: str) -> bool:
    """Whether another run may be reading a partition: it holds a claim on something that may be made from it.

    That is any partition of the same snapshot key and of the same source, of a kind that the table of kinds makes from
    this kind. If a run dies, its claim stays. Cleanup of this snapshot is postponed until that partition is made again.

    Args:
        store: the lake.
        place: the partition.
        token: of this run, whose own claims do not count.
    """
    for path in _claims(store, place):
        stored = store.read_tagged(path) if path != place.claim else None
        if stored is not None and _token(stored[0]) != token:
            return True
    return False


def _claims(store: Store, place: Place) -> Iterator[str]:
    """Paths of the claims of all partitions that may be made from this one, by the ledger folders that exist."""
    names = {"snapshot": place.snapshot}
    if "source" in names_of(place.asset):
        names["source"] = names_of(place.asset)["source"]
    for kind in made_from(place.kind):
        for ledger in folders_like(store, kind.ledger, **names):
            yield f"{ledger.removesuffix('.json')}.receipts/.claim"


def check_claim(store: Store, place: Place, token: str) -> None:
    """Stops a run whose partition another run has claimed.

    Raises:
        Superseded: a newer run claimed the partition, or has finished it already.
    """
    if claimed_by(store, place) != token:
        raise superseded(place)


def superseded(place: Place) -> Superseded:
    """The error of a run whose partition another run has claimed."""
    return Superseded(f"{place.asset} ({place.snapshot}): a newer run has taken it over; this one stops here")
