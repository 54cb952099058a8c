"""A release of the small lake of wholelake.py."""

from msgspec import UNSET
from testkit import SHELVES, Mill
from wholelake import even, make_cache

from gristmill.recipes.catalogue import read_catalogue
from gristmill.releases.card import DataCard, data_card
from gristmill.releases.card_files import card_files
from gristmill.releases.pinned import PinnedRelease
from gristmill.releases.pinning import pinned_release, train_weights, trainer_files, trainer_reading, write_release
from gristmill.stages.mixing.step import stream_step


def release_of_whole(mill: Mill, name: str = "first") -> PinnedRelease:
    """The release of the token cache, not written."""
    return pinned_release(mill.store, name, "even", "tiny-1")


def write_whole(mill: Mill, name: str = "first") -> PinnedRelease:
    """Writes the release, with the trainer's files and no card."""
    release = release_of_whole(mill, name)
    assert write_release(mill.store, release, trainer_files(mill.store, release))
    return release


def write_older(mill: Mill, release: PinnedRelease) -> None:
    """Writes the release with a card as version 0.2 made it."""
    files = trainer_files(mill.store, release)
    reading = trainer_reading(mill.store, release)
    card = data_card(release, read_catalogue(SHELVES), train_weights(files, release), reading, UNSET)
    assert write_release(mill.store, release, files | card_files(mill.store, release, card))


def card_of_whole(mill: Mill) -> DataCard:
    """The data card of the release."""
    release = release_of_whole(mill)
    weights = train_weights(trainer_files(mill.store, release), release)
    return data_card(release, read_catalogue(SHELVES), weights, trainer_reading(mill.store, release))


def change_whole(mill: Mill) -> None:
    """Gives shard `a` another document alone, and makes everything up to the token cache again."""
    mill.raw("a.jsonl.gz", [{"id": "doc-00004", "source": "pages", "text": "one new text", "metadata": {"number": 4}}])
    mill.convert()
    mill.tag("words-1", "characters-1")
    mill.revise()
    mill.make(stream_step(even(), "pages", "2024", SHELVES))
    make_cache(mill)
