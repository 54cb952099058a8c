"""TokenRatio: how many tokens documents have, estimated from the newest token cache of their mix."""

from typing import NamedTuple

from gristmill.lake.address import cache_asset, ledger_folder, place
from gristmill.lake.ledger.files import list_ledgers, read_head
from gristmill.lake.store.protocol import Store
from gristmill.previews.tally import Amount
from gristmill.recipes.mix import Mix
from gristmill.text.natural_order import newest

CHARACTERS = 4
"""Code points of a token, if no cache says better."""


class TokenRatio(NamedTuple):
    """Tokens for each byte of documents.

    Attributes:
        tokens: of the cache that was measured; 0 without one.
        bytes: of the lines of its documents.
        measured: the cache; empty without one.
    """

    tokens: int = 0
    bytes: int = 0
    measured: str = ""

    def tokens_of(self, amount: Amount) -> int:
        """The estimate for some documents.

        >>> TokenRatio(50, 200, "a cache").tokens_of(Amount(1, 40, 30)), TokenRatio().tokens_of(Amount(1, 40, 30))
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
    named = [] if isinstance(mix.tokenizers, str) else list(mix.tokenizers)
    top = f"token_caches/{mix.name}/"
    there = [folder.removeprefix(top).rstrip("/") for folder in store.folders(top)]
    for tokenizer in (*[name for name in named if name in there], *sorted(set(there) - set(named))):
        asset = cache_asset(mix.name, tokenizer, stream)
        ledgers = {each.snapshot: each for each in list_ledgers(store, ledger_folder(asset)) if each.asset == asset}
        while ledgers:
            snapshot = newest(list(ledgers))
            ledgers.pop(snapshot)
            head = read_head(store, place(asset, snapshot))
            for upstream in head.inputs if head else ():
                if not upstream.asset.startswith(f"mixes/{mix.name}/documents/"):
                    continue
                made = read_head(store, place(upstream.asset, upstream.snapshot))
                if head and made and made.fingerprint == upstream.fingerprint and made.totals["length"]:
                    return TokenRatio(head.totals.get("tokens", 0), made.totals["length"], f"{asset} ({snapshot})")
    return TokenRatio()
