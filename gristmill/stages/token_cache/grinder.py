"""The grinder of token caches: makes one Levanter part from a group of shards; copies the ids of unchanged shards.

The name of a part's folder has the digest of everything the part is made from. So a part is never changed: other
inputs give another folder, and the ledger names the folder that is valid.
"""

from typing import Any

import msgspec

from gristmill.errors import StoreError
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Job, Outcome
from gristmill.execution.write_shards import write_shards
from gristmill.formats.levanter.cache import CacheReader, copy_range, range_reader_of_store
from gristmill.lake.address import Place
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.store.hashing import hash_object
from gristmill.recipes.row_format import format_from_mapping
from gristmill.recipes.tokenizer import TokenizerOptions
from gristmill.stages.token_cache.part import Part, PartRecord
from gristmill.stages.token_cache.row_encoder import row_encoder
from gristmill.stages.token_cache.shard_tokenizer import ShardTokenizer
from gristmill.stages.tokenization.files import read_reference, read_tokenizer


class TokenCacheSpec(OneAssetSpec, frozen=True):
    """The settings that all parts share. `format`, `tokenizer` and `options` are arguments of row_encoder."""

    documents: Place
    tokenizer: str
    fingerprint: str
    options: TokenizerOptions
    validation: float
    splits: tuple[str, ...]
    format: dict[str, Any]


class TokenCacheItem(msgspec.Struct, frozen=True):
    """One part.

    Attributes:
        folder: name of its folder.
        shards: its shards of documents, in order.
        inputs: the shards and the tokenizer, with their digests.
        old: the record of the part that it replaces, if unchanged shards may be copied from it.
    """

    folder: str
    shards: tuple[Shard, ...]
    inputs: tuple[Input, ...]
    old: PartRecord | None


class TokenCacheGrinder(ShardGrinder[TokenCacheSpec, TokenCacheItem]):
    """Grinds the parts of one stream's snapshot."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        spec = self._spec
        ledger, data = read_tokenizer(self._store, spec.tokenizer)
        if ledger.fingerprint != spec.fingerprint:
            raise StoreError(f"tokenizer {spec.tokenizer}: changed since this run was planned; start the run again")
        self._format = format_from_mapping(spec.format)
        facts = read_reference(self._store, ledger)
        self._encoder, vocabulary = row_encoder(self._format, spec.tokenizer, data, spec.options, facts)
        self._tokenizer = ShardTokenizer(self._encoder, vocabulary, self._format.on_trouble, spec.validation)

    def grind(self, item: Item, body: TokenCacheItem) -> Outcome:
        old = body.old if body.old and self._is_part_unchanged(body.old) else None
        dtypes, metadata = self._format.dtypes, self._encoder.metadata
        part = Part(self._store, self._spec, item.name, body.inputs, body.folder, self._spec.splits, dtypes, metadata)
        facts = {"shards tokenized": 0, "shards copied": 0}

        def write() -> None:
            for shard in body.shards:
                part.begin_shard()
                copied = self._copy_shard_tokens(shard, old, part)
                if not copied:
                    file = open_shard(self._store, self._spec.documents, shard)
                    self._tokenizer.tokenize_shard(file, part.writers, part.end_shard)
                facts["shards copied" if copied else "shards tokenized"] += 1

        ground = write_shards(self._store, [part], write)
        if self._encoder.engine:
            facts[f"engine {self._encoder.engine}"] = 1
        return Outcome(ground, facts)

    def _is_part_unchanged(self, old: PartRecord) -> bool:
        """Whether every object of the old part has the sha256 in its ledger.

        blosc does not detect every flipped bit, and the new part's checksums would make the damage look valid.
        """
        for path, (sha256, _) in old.objects.items():
            try:
                if hash_object(self._store, path) != sha256:
                    return False
            except StoreError:
                return False
        return True

    def _copy_shard_tokens(self, shard: Shard, old: PartRecord | None, part: Part) -> bool:
        """Copies a shard's ids from the old part, if they were made from the same content. Returns whether it did."""
        recorded = old.shards.get(shard.name) if old else None
        if old is None or recorded is None or recorded.content != shard.identity or not recorded.is_counted:
            return False
        for split, (first, rows, _, _) in recorded.ranges.items():
            if rows:
                reader = CacheReader(range_reader_of_store(self._store), old.folders[split].rstrip("/"))
                copy_range(reader, first, first + rows, part.writers[split])
        part.end_shard(shard, recorded.facts, recorded.dropped, recorded.held)
        return True


grinder = TokenCacheGrinder
