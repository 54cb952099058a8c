"""The audit of token caches and tokenizers. See verification/audit.py."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from tokenizers import Tokenizer as Reader

from gristmill.errors import DataError
from gristmill.execution.finding import Finding, differs
from gristmill.execution.work import Say
from gristmill.formats.levanter.cache import CacheReader, ranges_of
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, load_ledger
from gristmill.formats.levanter.checksums import SUMS, prove
from gristmill.lake.address import SPLITS, Place, place, tokenizer_asset
from gristmill.lake.asset_kinds import MIX, TOKEN_CACHE, TOKEN_CACHE_INDEX, kind_of
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.model import Ledger, Shard, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.part import PartRecord, RowDigests, part_records
from gristmill.stages.token_cache.part_table import MEND, Claims, ids_of
from gristmill.stages.tokenization.files import TokenizerLedger, ledger_path, read_tokenizer_ledger, tokenizer_path
from gristmill.verification.documents import table_of
from gristmill.verification.ledger import LedgerProof, input_of, part_strays, upstream_head
from gristmill.verification.shard import prove_object

RESTORE = "restore the file, or bring the other one as a tokenizer of the next number"


def cache_findings(store: Store, here: Place, say: Say) -> Iterator[Finding]:
    """Everything that is wrong with one slice of a token cache, in the order in which it is found."""
    proof = LedgerProof(store, here)
    yield from proof.findings
    if proof.head is None:
        return
    yield from proof.upstream(say)
    documents = _documents(store, proof.head)
    claims = Claims(store, here, proof.shards)
    if documents is not None:
        yield from claims.against(documents)
    if proof.shards:
        yield from claims.parts_agree()
    records = part_records(proof.shards)
    for part in proof.shards:
        if part.name in records:
            yield from _part(store, here, part, records[part.name], documents)
    for split in SPLITS:
        yield from _merged(store, here, split, proof.shards, records)
    yield from part_strays(store, here, proof.shards, say)


def _documents(store: Store, head: Ledger) -> list[Shard] | None:
    """The table of the mix's slice, if it is there and still what the cache was made from."""
    each = input_of(head, MIX)
    if each is None:
        return None
    here = place(each.asset, each.snapshot)
    found = upstream_head(store, each)
    return list(table_of(store, here).values()) if found and found.fingerprint == each.fingerprint else None


def _part(
    store: Store, here: Place, part: Shard, record: PartRecord, documents: Sequence[Shard] | None
) -> Iterator[Finding]:
    """One part: every object's bytes, then every row of it, decoded."""
    wrong = [f for path, (sha256, _) in sorted(record.objects.items()) for f in prove_object(store, path, sha256)]
    yield from wrong
    if record.sha256 != part.sha256:
        what = differs("its sha256 is", record.sha256, part.sha256)
        yield Finding(here.table, None, f"part {part.name}: {what}", MEND)
    if documents is not None:
        ids = digest_of([shard.ids for shard in documents if shard.name in record.shards])
        if ids != part.ids:
            yield Finding(here.table, None, f"part {part.name}: {differs('its ids digest is', ids, part.ids)}", MEND)
    if wrong:
        return  # what is damaged is not decoded
    digests: list[str] = []
    for split, folder in sorted(record.folders.items()):
        try:
            digests += [split, *_decode(store, record, split, folder)]
        except (DataError, IndexError) as error:
            yield Finding(folder, None, str(error), MEND)
            return
    if digest_of(digests) != part.content:
        what = differs("its content digest is", digest_of(digests), part.content)
        yield Finding(here.table, None, f"part {part.name}: {what}", MEND)


def _decode(store: Store, record: PartRecord, split: str, folder: str) -> list[str]:
    """Digests of all fields' elements and rows' lengths, which are read whole and compared with the table's ranges.

    Raises:
        DataError: something is missing or damaged, an id is none of the vocabulary, or a range is another.
    """
    reader = CacheReader(ranges_of(store), folder.rstrip("/"))
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
    return digests.hexdigests()


def _merged(
    store: Store, here: Place, split: str, parts: Sequence[Shard], records: Mapping[str, PartRecord]
) -> Iterator[Finding]:
    """What the split's merged Levanter ledger, where there is one, says of this slice's parts."""
    top = f"{here.asset}/{split}/"
    path = top + LEDGER_NAME
    found = store.read_tagged(path)
    if found is None:
        return
    try:
        merged = load_ledger(found[0], path)
    except DataError as error:
        yield Finding(path, None, str(error), "make the token cache's index again")
        return
    ours: dict[str, tuple[int, int]] = {}
    for part in parts:
        record = records.get(part.name)
        if record and split in record.folders:
            folder = record.folders[split].removeprefix(top).rstrip("/")
            ours[folder] = (part.counts.get(f"{split} rows", 0), part.counts.get(f"{split} tokens", 0))
    for name in merged["finished_shards"]:
        if not name.startswith(f"{here.snapshot}/"):
            continue
        said = merged["shard_rows"][name], ids_of(merged["field_counts_by_shard"].get(name, {}))
        if said != ours.get(name):
            what = (
                f"part {name} has {said[0]} rows and {said[1]} tokens there, in our ledger {ours.get(name, 'no place')}"
            )
            yield Finding(path, None, what, "make the token cache's index again")


def tokenizer_findings(store: Store, name: str, say: Say) -> Iterator[Finding]:
    """Everything that is wrong with a tokenizer."""
    path = ledger_path(name)
    try:
        ledger = read_tokenizer_ledger(store, name)
    except msgspec.DecodeError as error:
        yield Finding(path, None, f"not a tokenizer's ledger ({error})", RESTORE)
        return
    if ledger is None:
        yield Finding(path, None, "there is no ledger", RESTORE)
        return
    if ledger.asset != tokenizer_asset(name):
        yield Finding(path, None, differs("its asset is", tokenizer_asset(name), ledger.asset), RESTORE)
    if ledger.files.get("tokenizer.json") != ledger.fingerprint:
        yield Finding(path, None, "its fingerprint is not the sha256 that it gives of tokenizer.json", RESTORE)
    yield from _files(store, name, ledger)
    yield from _vocabulary(store, name, ledger)
    for asset, snapshot, fingerprint in ledger.inputs:
        head = upstream_head(store, Upstream(asset, snapshot, fingerprint))
        if head is not None and head.fingerprint != fingerprint:  # no lie: a tokenizer stays what it was trained as
            say(f"{ledger.asset}: {asset} ({snapshot}) has changed since it was trained on it")


def _files(store: Store, name: str, ledger: TokenizerLedger) -> Iterator[Finding]:
    for file, sha256 in sorted(ledger.files.items()):
        for finding in prove_object(store, tokenizer_path(name, file), sha256):
            yield Finding(finding.path, finding.row, finding.what, RESTORE)
    folder = f"{tokenizer_asset(name)}/"
    for entry in store.list(folder):
        if entry.path != ledger_path(name) and entry.path.removeprefix(folder) not in ledger.files:
            yield Finding(entry.path, None, "no ledger names this object", "remove it, or put it elsewhere")


def _vocabulary(store: Store, name: str, ledger: TokenizerLedger) -> Iterator[Finding]:
    path = tokenizer_path(name)
    found = store.read_tagged(path)
    if found is None or hashlib.sha256(found[0]).hexdigest() != ledger.fingerprint:
        return  # said already
    size = Reader.from_str(found[0].decode()).get_vocab_size(with_added_tokens=True)
    if size != ledger.vocabulary:
        yield Finding(path, None, differs("its entries are", size, ledger.vocabulary), RESTORE)


def copies(store: Store) -> list[str]:
    """The `sums.json` of every copy in the lake."""
    return [e.path for e in store.list(TOKEN_CACHE.top) if e.path.endswith(f"/{SUMS}") and index_of_copy(e.path)]


def index_of_copy(path: str) -> str | None:
    """The index that a path in a consolidated copy of a token cache belongs to; None if it is in no copy."""
    index = path.partition("/consolidated/")[0]
    return index if index != path and kind_of(index) is TOKEN_CACHE_INDEX else None


def copy_findings(store: Store, path: str) -> Iterator[Finding]:
    """What is wrong with the copy whose `sums.json` lies at `path`: its objects, then every row, decoded."""
    folder = path.removesuffix(SUMS)
    try:
        prove(store, folder)
    except (DataError, IndexError) as error:
        yield Finding(path, None, str(error), f"remove {folder} and make the index with consolidated: true again")
