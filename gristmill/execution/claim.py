"""The claim: which run is making a partition. The newest wins; an older one finds out, and stops."""

from collections.abc import Iterator

import msgspec

from gristmill.errors import Superseded
from gristmill.lake.address import Place
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

    That is any partition with the same snapshot's key, of the same source, of a mix or of a token cache. A run that
    died has left its claim: what waits for it waits until that partition is made.
    """
    for top in _ledger_folders(store, place):
        path = f"{top}{place.snapshot}.receipts/.claim"
        found = store.read_tagged(path) if path != place.claim else None
        if found is not None and _token(found[0]) != token:
            return True
    return False


def _ledger_folders(store: Store, place: Place) -> Iterator[str]:
    """The folders in which ledgers of the same snapshot's key lie, by what folders there are."""
    kind, name = place.asset.split("/")[:2]
    if kind == "sources":
        for version in store.folders(f"sources/{name}/"):
            yield f"{version}ledgers/documents/"
            yield from store.folders(f"{version}ledgers/attributes/")
    for mix in store.folders("mixes/"):
        yield from store.folders(f"{mix}ledgers/")
    for mix in store.folders("token_caches/"):
        for tokenizer in store.folders(mix):
            yield from store.folders(f"{tokenizer}ledgers/")


def check_claim(store: Store, place: Place, token: str) -> None:
    """Stops a run whose partition was taken over.

    Raises:
        Superseded: a newer run claimed the partition, or has finished it already.
    """
    if claimed_by(store, place) != token:
        raise Superseded(f"{place.asset} ({place.snapshot}): a newer run has taken it over; this one stops here")
