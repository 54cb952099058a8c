"""Terse: refuses a text with more lines than MILLEXTRAS_LINES says. Titled: only warns."""

import gzip
import json
import os
from collections.abc import Sequence

from gristmill.execution.added_checks import AddedCheck
from gristmill.execution.checks import Verdict
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import DOCUMENTS, MIX
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store


def lines(store: Store, place: Place, shards: Sequence[Shard]) -> list[int]:
    """The number of lines of each text."""
    rows = (row for shard in shards for row in gzip.decompress(store.read(place.shard(shard.name))).splitlines())
    return [json.loads(row)["text"].count("\n") for row in rows]


def terse(store: Store, place: Place, shards: Sequence[Shard]) -> Verdict:
    longest, most = max(lines(store, place, shards)), int(os.environ.get("MILLEXTRAS_LINES", "9"))
    text = f"the longest text has {longest} lines; {most} are allowed"
    return Verdict("", passed=longest <= most, description=text, metadata={"lines": longest})


def titled(store: Store, place: Place, shards: Sequence[Shard]) -> Verdict:
    del store
    return Verdict("", passed=False, description=f"{place.kind.name} of {len(shards)} shards")


TERSE = AddedCheck(name="terse", kinds=(DOCUMENTS, MIX), claim="no text has too many lines", check=terse)
TITLED = AddedCheck(name="titled", kinds=(DOCUMENTS,), claim="nothing", check=titled, blocking=False)
