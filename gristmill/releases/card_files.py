"""The files of a data card in a release: as JSON, as Markdown, and as metadata in Croissant."""

from collections.abc import Sequence

import msgspec

from gristmill.lake.address import place
from gristmill.lake.asset_kinds import MIX, kind_of
from gristmill.lake.ledger.files import read_table
from gristmill.lake.ledger.folders.pinned_upload import RELEASES
from gristmill.lake.ledger.index_ledger import content_digest
from gristmill.lake.ledger.receipts import objects_of_row
from gristmill.lake.store.protocol import Store
from gristmill.releases.card import DataCard
from gristmill.releases.card_text import card_text
from gristmill.releases.croissant import croissant_metadata
from gristmill.releases.pinned import PinnedRelease, pinned_path, read_pinned

CARD = "card.json"
CARD_FILES = (CARD, "card.md", "croissant.json")
"""The names of all files of a data card."""


def card_files(store: Store, release: PinnedRelease, card: DataCard, *, shards: bool = True) -> dict[str, bytes]:
    """The content of the files of a data card, by their paths.

    Args:
        store: the lake.
        release: the release.
        card: its data card.
        shards: whether the lake has the documents of the mix that the release pins; else there is no Croissant.

    Raises:
        DataError: a ledger of the mix is damaged.
    """
    folder = f"{RELEASES}{release.name}"
    files = {
        f"{folder}/{CARD}": _indented_json(msgspec.to_builtins(card)),
        f"{folder}/card.md": card_text(card).encode(),
    }
    if shards:
        files[f"{folder}/croissant.json"] = _indented_json(croissant_metadata(card, _mix_shards(store, release)))
    return files


def card_of_release(store: Store, name: str, cards: Sequence[DataCard]) -> DataCard:
    """The card that a release has: one that an earlier version made keeps its form.

    Args:
        store: the lake.
        name: name of the release.
        cards: the card in all forms, the newest first.

    Returns:
        One of them: the newest if the lake has no such release, or if the release names another card.

    Raises:
        DataError: the file of the release is damaged.
    """
    if store.head(pinned_path(name)) is None:
        return cards[0]
    path = f"{RELEASES}{name}/{CARD}"
    digest = read_pinned(store, name).files.get(path)
    made = ((card, _indented_json(msgspec.to_builtins(card))) for card in cards)
    return next((card for card, data in made if content_digest(data, path, store.url) == digest), cards[0])


def _mix_shards(store: Store, release: PinnedRelease) -> dict[str, tuple[str, int]]:
    """The shards of the mix's documents."""
    found: dict[str, tuple[str, int]] = {}
    for ledger in release.ledgers:
        if kind_of(ledger.asset) is MIX:
            partition = place(ledger.asset, ledger.snapshot)
            for row in read_table(store, partition):
                named = (each for each in objects_of_row(row, partition) if each[0] == partition.shard(row.name))
                found |= {path: (sha256, size or 0) for path, sha256, size in named}
    return found


def _indented_json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
