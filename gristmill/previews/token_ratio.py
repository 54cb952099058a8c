"""TokenRatio: how many tokens documents have, estimated from the newest token cache of their mix."""

from typing import NamedTuple

from gristmill.lake.address import Place, cache_asset, documents_asset, ledger_folder, place
from gristmill.lake.asset_kinds import MIX, TOKEN_CACHE, kind_of, names_in_asset_address
from gristmill.lake.ledger.files import list_ledgers, read_head
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Store
from gristmill.previews.tally import Amount
from gristmill.recipes.mix import Mix
from gristmill.stages.mixing.index import is_made_from_documents
from gristmill.text.natural_order import newest_snapshot

CHARACTERS = 4
"""Code points of a token, if no cache says better."""


class TokenRatio(NamedTuple):
    """Tokens for each byte of documents.

    Attributes:
        tokens: number of tokens of the cache that was measured; 0 without one.
        bytes: size of the lines of its documents.
        measured: the cache; empty without one.
    """

    tokens: int = 0
    bytes: int = 0
    measured: str = ""

    def estimate_tokens(self, amount: Amount) -> int:
        """The estimate for some documents.

        >>> amount = Amount(1, 40, 30)
        >>> TokenRatio(50, 200, "a cache").estimate_tokens(amount), TokenRatio().estimate_tokens(amount)
        (10, 8)
        """
        if self.measured:
            return round(amount.bytes * self.tokens / self.bytes)
        return round(amount.characters / CHARACTERS)

    def __str__(self) -> str:
        if self.measured:
            return f"bytes x {self.tokens / self.bytes:.3f}, as measured in {self.measured}"
        return f"characters / {CHARACTERS}, because no token cache of this stream is there to measure"


def token_ratio(store: Store, mix: Mix, stream: str) -> TokenRatio:
    """The ratio of a stream: of its first tokenizer that has a cache of the documents as they are, its newest snapshot.

    Args:
        store: the lake.
        mix: the mix.
        stream: key of the stream.
    """
    documents = next((documents_asset(each.source, each.version) for each in mix.streams if each.key == stream), "")
    named = [] if isinstance(mix.tokenizers, str) else list(mix.tokenizers)
    caches = list_assets(store, TOKEN_CACHE, mix=mix.name, stream=stream)
    there = [names_in_asset_address(asset)["tokenizer"] for asset in caches]
    for tokenizer in (*[name for name in named if name in there], *sorted(set(there) - set(named))):
        asset = cache_asset(mix.name, tokenizer, stream)
        heads = {each.snapshot: each for each in list_ledgers(store, ledger_folder(asset)) if each.asset == asset}
        while heads:
            snapshot = newest_snapshot(list(heads))
            heads.pop(snapshot)
            ratio = _measure_ratio(store, place(asset, snapshot), documents)
            if ratio is not None:
                return ratio
    return TokenRatio()


def _measure_ratio(store: Store, cache: Place, documents: str) -> TokenRatio | None:
    """The ratio of a slice of a cache; None if the lake has not the documents of the stream that it was made from."""
    head = read_head(store, cache)
    for upstream in head.inputs if head else ():
        if head is not None and kind_of(upstream.asset) is MIX and is_made_from_documents(store, head, documents):
            made = read_head(store, place(upstream.asset, upstream.snapshot))
            if made is not None and made.fingerprint == upstream.fingerprint and made.totals["length"]:
                words = f"{cache.asset} ({cache.snapshot})"
                return TokenRatio(head.totals.get("tokens", 0), made.totals["length"], words)
    return None
