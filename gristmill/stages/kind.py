"""KindBehaviour: what the stage of a kind of asset answers about it, so that no other room names the kind.

What a row of gristmill/lake/asset_kinds.py can say is declared there. The rest is asked here: `verify` and takedowns
ask the stage, which is found by the name of the kind and imported when it is asked. Provisional: may change.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from gristmill.execution.finding import Finding
from gristmill.execution.step import Step
from gristmill.execution.work import Say
from gristmill.lake.address import Place
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import kind_of, may_be_added
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.index_ledger import IndexLedger
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.store.protocol import Store
from gristmill.plugins import Door
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.rows_recipe import recipe_type
from gristmill.shipped import SHIPPED


class KnownPart(NamedTuple):
    """A part that a ledger names.

    Attributes:
        store: the lake.
        place: place of its partition.
        row: row of the part in the table of its ledger.
    """

    store: Store
    place: Place
    row: Shard


class WantedDocuments(NamedTuple):
    """The documents that a takedown looks for.

    Attributes:
        rows: function that gives those in a shard that was read, and the number of the row of each.
        by_id: wanted documents that have an id, by the id.
    """

    rows: Callable[[Input], Iterable[tuple[Pair, int]]]
    by_id: Mapping[str, Sequence[Pair]]

    def read_by(self, row: Shard) -> Iterator[tuple[Pair, int]]:
        """The documents in the shards of documents that a shard or part was made from, with their rows there.

        Args:
            row: row of the shard or part in the table of its ledger.
        """
        for read in row.inputs:
            if (kind := kind_of(read.asset)) and kind.documents:
                yield from self.rows(read)


class HeldDocument(NamedTuple):
    """A document that a part holds.

    Attributes:
        pair: (source, id) of the document.
        where: the file, and the place in it, in words.
        by_id_of: name of the recipe whose row it is, if its id alone was compared; else empty.
    """

    pair: Pair
    where: str
    by_id_of: str = ""


class KindBehaviour:
    """The answers of a kind that has nothing of what is asked. What must not be passed over is an error."""

    def steps(
        self, store: Store, catalogue: Catalogue, shelves: tuple[str, ...], names: Mapping[str, str]
    ) -> Iterator[Step] | None:
        """The steps among which is the one that makes a partition.

        Args:
            store: the lake.
            catalogue: the recipes.
            shelves: packages that hold them.
            names: names in the address of the asset.

        Returns:
            The steps; None: the steps of the snapshot of its source.
        """

    def findings(self, part: KnownPart) -> Iterator[Finding]:
        """Findings on the bytes of a part, and on what its row says of them.

        Args:
            part: the part. Head, table and inputs of its partition are verified already.

        Raises:
            DataError: the part cannot be read, which is a finding.
        """
        raise NotImplementedError

    def held_documents(self, part: KnownPart, wanted: WantedDocuments) -> Iterator[HeldDocument]:
        """The wanted documents that a part holds.

        Args:
            part: the part.
            wanted: the documents.

        Raises:
            DataError: the part cannot be read.
            StoreError: a file of it is missing.
        """
        raise NotImplementedError

    def files(self, ledger: IndexLedger) -> Collection[str] | None:
        """The paths of the files that an index has.

        Args:
            ledger: ledger of the index.

        Returns:
            The paths; None: other rooms know the index, and its files.
        """

    def contradictions(self, store: Store, ledger: IndexLedger, say: Say) -> Iterator[tuple[str, str]]:
        """The files of an index that do not follow from what it closes: (path, what is wrong).

        Args:
            store: the lake.
            ledger: ledger of the index. Its files have the digests that it names, and its inputs are current.
            say: function that receives notes on what is odd, but no error.
        """
        raise NotImplementedError


ASSET_KINDS = Door[type[KindBehaviour]](
    "asset_kinds",
    "a class below RowsKind with a `recipe`, by a name that no other folder has",
    lambda name, found: (
        isinstance(found, type)
        and issubclass(found, KindBehaviour)
        and (name in SHIPPED["asset_kinds"] or (recipe_type(found) is not None and may_be_added(name)))
    ),
)
"""The classes that answer, by the name of the kind."""


@cache
def behaviour_of_kind(kind: AssetKind) -> KindBehaviour:
    """The behaviour of a kind, as its stage answers. Of a kind that other rooms know, that is nothing.

    Args:
        kind: kind of asset.
    """
    return (ASSET_KINDS.load(kind.name) if kind.name in ASSET_KINDS.names else KindBehaviour)()
