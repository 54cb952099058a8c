"""The claim: which run is making a partition. The newest wins; an older one finds out, and stops."""

from collections.abc import Iterator

import msgspec

from gristmill.errors import Superseded
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import made_from, names_of
from gristmill.lake.ledger.walk import folders_like
from gristmill.lake.store.protocol import Store


def claimed_by(store: Store, place: Place) -> str | None:
    """The token of the run that holds the claim, or None if nobody does."""
    found = store.read_tagged(place.claim)
    return _token(found[0]) if found else None


def _token(data: bytes) -> str | None:
    try:
        return msgspec.json.decode(data, type=dict[str, str]).get("token")
    except (msgspec.DecodeError, UnicodeDecodeError):  # torn: nobody can answer for it
        return None


def others_at_work(store: Store, place: Place, token: str) -> bool:
    """Whether another run holds a claim on anything that may be made from a partition: it may be reading it.

    That is any partition with the same snapshot's key, of the same source, or of a kind behind it in the table of
    kinds. A run that died has left its claim: what waits for it waits until that partition is made.
    """
    for path in _claims(store, place):
        found = store.read_tagged(path) if path != place.claim else None
        if found is not None and _token(found[0]) != token:
            return True
    return False


def _claims(store: Store, place: Place) -> Iterator[str]:
    """Where the claims of all that may be made from a partition would lie, by the folders of ledgers that there are."""
    known = {"snapshot": place.snapshot}
    if "source" in names_of(place.asset):
        known["source"] = names_of(place.asset)["source"]
    for kind in made_from(place.kind):
        for ledger in folders_like(store, kind.ledger, **known):
            yield f"{ledger.removesuffix('.json')}.receipts/.claim"


def check_claim(store: Store, place: Place, token: str) -> None:
    """Stops a run whose partition was taken over.

    Raises:
        Superseded: a newer run claimed the partition, or has finished it already.
    """
    if claimed_by(store, place) != token:
        raise Superseded(f"{place.asset} ({place.snapshot}): a newer run has taken it over; this one stops here")
