"""The claim: which run is making a partition. The newest wins; an older one finds out, and stops."""

import msgspec

from gristmill.errors import Superseded
from gristmill.lake.address import Place
from gristmill.lake.store import Store


def claimed_by(store: Store, place: Place) -> str | None:
    """The token of the run that holds the claim, or None if nobody does."""
    found = store.read_tagged(place.claim)
    try:
        return msgspec.json.decode(found[0], type=dict[str, str]).get("token") if found else None
    except (msgspec.DecodeError, UnicodeDecodeError):  # torn: nobody can answer for it
        return None


def check_claim(store: Store, place: Place, token: str) -> None:
    """Stops a run whose partition was taken over.

    Raises:
        Superseded: a newer run claimed the partition, or has finished it already.
    """
    if claimed_by(store, place) != token:
        raise Superseded(f"{place.asset} ({place.snapshot}): a newer run has taken it over; this one stops here")
