"""The audit of token caches and tokenizers. See verification/audit.py."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from tokenizers import Tokenizer as Reader

from gristmill.errors import DataError, RecipeError
from gristmill.execution.finding import Finding, difference_in_words, prove_object, unreadable_finding
from gristmill.execution.mend import REMOVE_STRAY
from gristmill.execution.work import Say
from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, dump_ledger, load_ledger
from gristmill.lake.address import SPLITS, Place, place, tokenizer_asset
from gristmill.lake.asset_kinds import MIX, kind_of
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.as_written import first_unknown_field
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.folders.whole_folder import WRITING, is_being_written
from gristmill.lake.ledger.model import Ledger, Shard, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.part import TOKEN_BYTES, PartRecord, RowDigests, folder_names, part_records
from gristmill.stages.token_cache.part_table import PartTable, token_count
from gristmill.stages.tokenization.files import TokenizerLedger, ledger_path, read_tokenizer_ledger, tokenizer_path
from gristmill.verification.documents import shards_by_name
from gristmill.verification.ledger import LedgerProof, first_input_of_kind, stray_part_objects, upstream_head
from gristmill.verification.trainer_config import recorded_format


def cache_findings(store: Store, partition: Place, say: Say) -> Iterator[Finding]:
    """Findings on one slice of a token cache, in the order of reading."""
    proof = LedgerProof(store, partition)
    yield from proof.findings
    if proof.head is None:
        return
    yield from proof.upstream_findings()
    documents = _mix_slice_table(store, proof.head)
    claims = PartTable(store, partition, proof.shards)
    if documents is not None:
        yield from claims.part_set_findings(documents)
    yield from _shard_placement_findings(proof.head, partition, claims)
    if proof.shards:
        yield from claims.parts_agree()
    records = part_records(proof.shards)
    for part in proof.shards:
        if part.name in records:
            yield from _part_findings(store, partition, part, records[part.name], documents)
    yield from _array_type_findings(store, proof.head, partition, records)
    for split in SPLITS:
        yield from _merged_ledger_findings(store, partition, split, proof.shards, records)
    yield from stray_part_objects(store, partition, proof.shards, say)


def _shard_placement_findings(head: Ledger, partition: Place, claims: PartTable) -> Iterator[Finding]:
    """Findings on shards in other parts, or in another order, than the ledger's own recipe says."""
    parts = head.recipe.parameters.get("parts")
    if isinstance(parts, int) and parts > 0:
        yield from claims.in_places(parts)
    else:
        yield Finding(partition.ledger, None, f"its recipe's number of parts is {parts!r}")


def _mix_slice_table(store: Store, head: Ledger) -> list[Shard] | None:
    """The table of the mix's slice; None if it does not exist, or has changed since the cache was made."""
    upstream = first_input_of_kind(head, MIX)
    if upstream is None:
        return None
    partition = place(upstream.asset, upstream.snapshot)
    current = upstream_head(store, upstream)
    return (
        list(shards_by_name(store, partition).values())
        if current and current.fingerprint == upstream.fingerprint
        else None
    )


def _part_findings(
    store: Store, partition: Place, part: Shard, record: PartRecord, documents: Sequence[Shard] | None
) -> Iterator[Finding]:
    """Findings on one part: first the bytes of every object, then every row, decoded."""
    wrong = [f for path, (sha256, _) in sorted(record.objects.items()) for f in prove_object(store, path, sha256)]
    yield from wrong
    if record.sha256 != part.sha256:
        what = difference_in_words("its sha256 is", record.sha256, part.sha256)
        yield Finding(partition.table, None, f"part {part.name}: {what}")
    yield from _part_row_findings(partition, part, record)
    if documents is not None:
        ids = digest_of([shard.ids for shard in documents if shard.name in record.shards])
        if ids != part.ids:
            yield Finding(
                partition.table, None, f"part {part.name}: {difference_in_words('its ids digest is', ids, part.ids)}"
            )
    if wrong:
        return  # a damaged part is not decoded
    digests, objects = list[str](), set[str]()
    for split, folder in sorted(record.folders.items()):
        try:
            reader = CacheReader(range_reader_of_store(store), folder.rstrip("/"))
            objects.update(reader.objects)
            if store.read(folder + LEDGER_NAME) != dump_ledger(reader.ledger):
                yield Finding(folder + LEDGER_NAME, None, "it is not as Gristmill writes such a ledger")
            digests += [split, *_decode_split(reader, record, split, folder)]
        except (DataError, IndexError) as error:
            yield Finding(folder, None, str(error))
            return
    if other := objects ^ record.objects.keys():
        what = f"its row names another set of objects than its arrays have, by {min(other)}"
        yield Finding(partition.table, None, f"part {part.name}: {what}")
    if digest_of(digests) != part.content:
        what = difference_in_words("its content digest is", digest_of(digests), part.content)
        yield Finding(partition.table, None, f"part {part.name}: {what}")


def _part_row_findings(partition: Place, part: Shard, record: PartRecord) -> Iterator[Finding]:
    """Findings on fields of a part's row that do not follow from its record."""
    if part.length != TOKEN_BYTES * part.counts.get("tokens", 0):
        what = difference_in_words("its length is", TOKEN_BYTES * part.counts.get("tokens", 0), part.length)
        yield Finding(partition.table, None, f"part {part.name}: {what}")
    for split, folder in sorted(record.folders.items()):
        names = folder_names(part.name, part.recipe, part.inputs)
        if folder.rstrip("/") not in {partition.part_folder(split) + name for name in names}:
            what = difference_in_words(f"the folder of its {split} is", partition.part_folder(split) + names[0], folder)
            yield Finding(partition.table, None, f"part {part.name}: {what}")
    if (foreign := first_unknown_field(part.extra, record.as_extra())) is not None:
        yield Finding(partition.table, None, f"part {part.name}: its field extra has {foreign!r}, which no part has")
    read = {(each.shard, each.content) for each in part.inputs if kind_of(each.asset) is MIX}
    if read != {(name, shard.content) for name, shard in record.shards.items()}:
        yield Finding(partition.table, None, f"part {part.name}: it was made from other shards than it has")


def _array_type_findings(
    store: Store, head: Ledger, partition: Place, records: Mapping[str, PartRecord]
) -> Iterator[Finding]:
    """Findings on arrays whose types are not those of the recorded format: the same bytes would be other numbers."""
    try:
        dtypes = recorded_format(head.recipe.parameters).dtypes
    except RecipeError as error:
        yield Finding(partition.ledger, None, str(error))
        return
    for folder in (folder for record in records.values() for folder in record.folders.values()):
        try:
            reader = CacheReader(range_reader_of_store(store), folder.rstrip("/"))
        except DataError:  # _part_findings() has a finding on it
            continue
        found = {field: reader.dtype(field) for field in reader.fields}
        if found != dtypes:
            yield Finding(folder, None, difference_in_words("its fields are", found, dtypes))


def _decode_split(reader: CacheReader, record: PartRecord, split: str, folder: str) -> list[str]:
    """Decodes a split of a part, and compares it with the ranges in the table.

    Returns:
        For each field, the digests of its elements and of its rows' lengths.

    Raises:
        DataError: an object is missing or damaged, an id is outside the vocabulary, or a range differs.
    """
    metadata = reader.ledger["metadata"]["preprocessor_metadata"] or {}
    vocabulary = int(metadata.get("vocab_size", 2**31))
    ids, digests = reader.fields[0], RowDigests(reader.fields)
    row = 0
    for batch in reader.batches(0, reader.rows):
        flat, counts = batch[ids]
        if len(flat) and not 0 <= int(flat.min()) <= int(flat.max()) < vocabulary:
            raise DataError(f"{folder}: between rows {row} and {row + len(counts)} an id is not below {vocabulary}")
        digests.update(batch)
        row += len(counts)
    for name, (first, rows, start, tokens) in record.in_order(split):
        bounds = reader.bounds(ids, first, first + rows)
        if rows and (int(bounds[0]), int(bounds[-1])) != (start, start + tokens):
            raise DataError(
                f"{folder}: shard {name}, rows {first} to {first + rows}, has the tokens {bounds[0]} to {bounds[-1]},"
                f" in its ledger {start} to {start + tokens}"
            )
    return digests.field_hex_digests()


def _merged_ledger_findings(
    store: Store, partition: Place, split: str, parts: Sequence[Shard], records: Mapping[str, PartRecord]
) -> Iterator[Finding]:
    """Findings unless the split's merged Levanter ledger, if it exists, agrees with this slice's table."""
    top = f"{partition.asset}/{split}/"
    path = top + LEDGER_NAME
    tagged = store.read_tagged(path)
    if tagged is None:
        return
    try:
        merged = load_ledger(tagged[0], path)
    except DataError as error:
        yield Finding(path, None, str(error).removeprefix(f"{path}: "))
        return
    ours: dict[str, tuple[int, int]] = {}
    for part in parts:
        record = records.get(part.name)
        if record and split in record.folders:
            folder = record.folders[split].removeprefix(top).rstrip("/")
            ours[folder] = (part.counts.get(f"{split} rows", 0), part.counts.get(f"{split} tokens", 0))
    for name in merged["finished_shards"]:
        if not name.startswith(f"{partition.snapshot}/"):
            continue
        rows, tokens = merged["shard_rows"][name], token_count(merged["field_counts_by_shard"].get(name, {}))
        if (rows, tokens) != ours.get(name):
            what = f"part {name} has {rows} rows and {tokens} tokens there, in our ledger {ours.get(name, 'no place')}"
            yield Finding(path, None, what)


def tokenizer_findings(store: Store, name: str, say: Say) -> Iterator[Finding]:
    """Findings on a tokenizer: its ledger, its files and its vocabulary."""
    path = ledger_path(name)
    try:
        ledger = read_tokenizer_ledger(store, name)
    except DataError as error:
        yield unreadable_finding(path, error)
        return
    if ledger is None:
        yield Finding(path, None, "there is no ledger")
        return
    if not ledger.digest:
        say(f"{path}: not proven: it has no digest of itself, like those of version 0.1")
    elif as_json(ledger.with_digest()) != store.read(path):
        yield Finding(path, None, "its digest does not follow from its other fields")
        return
    if ledger.asset != tokenizer_asset(name):
        yield Finding(path, None, difference_in_words("its asset is", tokenizer_asset(name), ledger.asset))
    if ledger.files.get("tokenizer.json") != ledger.fingerprint:
        yield Finding(path, None, "its fingerprint is not the sha256 that it gives of tokenizer.json")
    if is_being_written(store, ledger.asset):
        mark, again = f"{ledger.asset}/{WRITING}", f"run `gristmill make LAKE {ledger.asset}`"
        yield Finding(mark, None, "a run is writing this folder, or was killed", again)
    yield from _tokenizer_file_findings(store, name, ledger)
    yield from _vocabulary_findings(store, name, ledger)
    for asset, snapshot, fingerprint in ledger.inputs:
        head = upstream_head(store, Upstream(asset, snapshot, fingerprint))
        if head is not None and head.fingerprint != fingerprint:  # a note only: a tokenizer stays valid
            say(f"{ledger.asset}: {asset} ({snapshot}) has changed since it was trained on it")


def _tokenizer_file_findings(store: Store, name: str, ledger: TokenizerLedger) -> Iterator[Finding]:
    for file, sha256 in sorted(ledger.files.items()):
        yield from prove_object(store, tokenizer_path(name, file), sha256)
    folder = f"{tokenizer_asset(name)}/"
    for entry in store.list(folder):
        if entry.path != ledger_path(name) and entry.path.removeprefix(folder) not in ledger.files:
            yield Finding(entry.path, None, "no ledger names this object", REMOVE_STRAY)


def _vocabulary_findings(store: Store, name: str, ledger: TokenizerLedger) -> Iterator[Finding]:
    path = tokenizer_path(name)
    tagged = store.read_tagged(path)
    if tagged is None or hashlib.sha256(tagged[0]).hexdigest() != ledger.fingerprint:
        return  # _files has reported it
    size = Reader.from_str(tagged[0].decode()).get_vocab_size(with_added_tokens=True)
    if size != ledger.vocabulary:
        yield Finding(path, None, difference_in_words("its entries are", size, ledger.vocabulary))
