"""The table of a token cache's parts, compared with the parts' objects."""

from collections.abc import Sequence

from gristmill.execution.checks import Verdict, _compared
from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.stages.cache_claims import Claims


def cache_complete(store: Store, documents: Sequence[Shard], parts: Sequence[Shard], place: Place) -> Verdict:
    """Every shard of the mix's slice lies in exactly one part of its token cache, whole, and nothing else does.

    From the table, one listing, and the parts' own Levanter ledgers.

    Raises:
        StoreError: the lake does not answer.
    """
    claims = Claims(store, place, parts)
    wrong = [*claims.against(documents), *claims.parts_agree()]
    facts = _compared(documents) | {"parts": len(parts), "tokens": sum(part.counts.get("tokens", 0) for part in parts)}
    if wrong:
        facts |= {"troubles": len(wrong), "first": wrong[0].what}
        text = f"{wrong[0].path}: {wrong[0].what}; {wrong[0].mend}"
        return Verdict("cache_complete", passed=False, description=text, metadata=facts)
    text = f"{facts['rows']:,} rows of {len(documents)} shards lie in {len(parts)} parts, once each"
    return Verdict("cache_complete", passed=True, description=text, metadata=facts)
