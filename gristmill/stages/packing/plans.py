"""Packing plans in the lake: they say, before a training run, how each split of a token cache becomes examples."""

import hashlib
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any

import msgspec
import numpy as np

from gristmill.errors import DataError, RecipeError
from gristmill.execution.work import Say
from gristmill.lake.address import SPLITS, cache_asset, cache_index, cache_packing, packing_stem
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import IndexWriter
from gristmill.lake.ledger.model import Upstream
from gristmill.lake.ledger.schema import refuse_newer_schema
from gristmill.lake.store.hashing import Uploads
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Format
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.mixing.index import index_path, read_index, slices_as_inputs
from gristmill.stages.packing.packer import Packing, packing_rule_of_format, refuse_misfit_plan
from gristmill.stages.packing.report import Report, report_on_packing
from gristmill.stages.token_cache.token_stream import TokenStream, open_split

MEND = "materialize the cache's packing again"
_PIECE = 1 << 18


class StoredPacking(msgspec.Struct, frozen=True):
    """The object that holds a plan's examples.

    It is a .npy file of int64, shape (examples, 2): each example's first document and its number of documents.

    Attributes:
        path: the object's path in the lake.
        sha256: SHA-256 of the object's bytes, hexadecimal.
    """

    path: str
    sha256: str


class PackingPlan(msgspec.Struct, frozen=True):
    """The plan of one split, as the lake's JSON file holds it.

    Attributes:
        schema: version of this form: 1.
        cache: the address of the stream's token cache.
        split: `train` or `validation`.
        ledger: sha256 of the split's merged ledger. The plan is valid for the split with this ledger only.
        fill_rate: share of tokens that are no padding, as in the report, rounded to six decimals.
        examples: place of the stored examples; None if documents are not packed.
        report: report on the content of the examples.
    """

    schema: int
    cache: str
    split: str
    ledger: str
    fill_rate: float
    examples: StoredPacking | None
    report: Report


def plan_cache(store: Store, mix: Mix, tokenizer: Tokenizer, length: int, say: Say) -> list[PackingPlan]:
    """Plans all splits of a token cache, as its index has merged them, and writes the plans into the lake.

    Args:
        store: the lake.
        mix: the mix whose cache it is.
        tokenizer: the tokenizer of the cache.
        length: tokens of one example.
        say: function that receives a progress line for each split.

    Returns:
        The plans: for each stream, train and then validation (if the mix has a validation split).

    Raises:
        DataError: the index does not exist yet, the cache is damaged, or a document is too long and must not be cut.
        RecipeError: the length is less than 1.
    """
    asset = cache_index(mix.name, tokenizer.name)
    index = read_index(store, asset)
    if index is None:
        raise DataError(f"{index_path(asset)}: does not exist yet, or is damaged; make the cache's index")
    return plan_slices(store, mix, tokenizer, length, slices_as_inputs(index), say)


def plan_slices(
    store: Store, mix: Mix, tokenizer: Tokenizer, length: int, slices: Sequence[Upstream], say: Say
) -> list[PackingPlan]:
    """Plans all splits of a token cache of which the merged ledgers exist already, as plan_cache() does.

    Args:
        store: the lake.
        mix: the mix whose cache it is.
        tokenizer: the tokenizer of the cache.
        length: tokens of one example.
        slices: the slices that the merged ledgers close.
        say: function that receives a progress line for each split.

    Returns:
        The plans, by stream and split.

    Raises:
        DataError: the cache is damaged, or a document is too long and must not be cut.
        RecipeError: the length is less than 1.
    """
    writer = IndexWriter(store, cache_packing(mix.name, tokenizer.name), length=str(length))
    planned: list[PackingPlan] = []
    for stream in mix.streams:
        for split in SPLITS if mix.validation else SPLITS[:1]:
            asset = cache_asset(mix.name, tokenizer.name, stream.key)
            stem = packing_stem(mix.name, tokenizer.name, stream.key, split, length)
            with writer.fence_writes():
                made = _plan_split(store, open_split(store, asset, split), stream.format, length, (asset, stem))
            if made.examples is not None:
                writer.add(made.examples.path, made.examples.sha256)
            writer.put(f"{stem}.json", as_json(made) + b"\n")  # after the .npy file, because it names it
            planned.append(made)
            say(f"{stream.key} {split}: {made.report.documents} documents, {made.report.examples} examples")
    writer.close(slices)
    return planned


def _plan_split(store: Store, sequence: TokenStream, form: Format, length: int, names: tuple[str, str]) -> PackingPlan:
    """Plans a split, and writes its examples."""
    made, packing = plan_packing(sequence, form, length, names)
    if packing is not None and made.examples is not None:
        _store_plan(store, made.examples, packing)
    return made


def plan_packing(
    sequence: TokenStream, form: Format, length: int, names: tuple[str, str]
) -> tuple[PackingPlan, Packing | None]:
    """Plans a split, and writes nothing; `verify` compares the plan in the lake with it.

    Args:
        sequence: the split, opened.
        form: the format of its rows.
        length: tokens of one example.
        names: the address of the stream's token cache, and the plan's path without its ending.

    Returns:
        The plan as its file holds it; and its examples, or None if documents are not packed.

    Raises:
        DataError: the cache is damaged, or a document is too long and must not be cut.
        RecipeError: the length is less than 1.
    """
    asset, stem = names
    report, packing = report_on_packing(sequence, form, length)
    stored = None
    if packing is not None:
        digest = hashlib.sha256()
        for piece in _encode_npy(packing):
            digest.update(piece)
        stored = StoredPacking(f"{stem}.npy", digest.hexdigest())
    split = sequence.path.rpartition("/")[2]
    return PackingPlan(1, asset, split, sequence.sha256, round(report.fill_rate, 6), stored, report), packing


def read_plan(store: Store, sequence: TokenStream, form: Format, stem: str) -> Packing:
    """Reads the packing plan of a split, and checks that it was made for the split as it is now.

    Args:
        store: the lake.
        sequence: the split, opened.
        form: the format of its rows.
        stem: the plan's path without its ending, see `address.packing_stem`.

    Returns:
        The plan.

    Raises:
        DataError: the plan does not exist, it was made before the split or its format changed, or it is damaged.
        RecipeError: documents of this format are not packed.
    """
    tagged = store.read_tagged(f"{stem}.json")
    if tagged is None:
        raise DataError(f"{stem}.json: does not exist yet; materialize the cache's packing")
    planned = decode_plan(tagged[0], f"{stem}.json")
    rule = packing_rule_of_format(form, planned.report.length)
    if planned.examples is None or rule is None:
        raise RecipeError(f"{stem}.json: documents of format {form.type} are not packed; read them without a plan")
    if planned.ledger != sequence.sha256 or not planned.report.is_by(rule):
        raise DataError(f"{stem}.json: made before the cache or its format changed; {MEND}")
    tagged = store.read_tagged(planned.examples.path)
    if tagged is None or hashlib.sha256(tagged[0]).hexdigest() != planned.examples.sha256:
        raise DataError(f"{planned.examples.path}: missing, or not the file that {stem}.json names; {MEND}")
    count, data = planned.report.examples, tagged[0]
    head = _npy_header(count)
    if not data.startswith(head) or len(data) != len(head) + 16 * count:
        raise DataError(f"{planned.examples.path}: not a .npy file of int64, shape ({count}, 2); {MEND}")
    first, counts = np.frombuffer(data, "<i8", offset=len(head)).reshape(count, 2).astype(np.int64).T
    packing = Packing(rule, first, counts)
    refuse_misfit_plan(packing, sequence.rows, planned.examples.path)
    return packing


def decode_plan(data: bytes, path: str) -> PackingPlan:
    """The plan that a file holds.

    Args:
        data: the bytes of the file.
        path: the path of the file, for messages.

    Raises:
        NewerSchema: a newer version of Gristmill wrote it.
        DataError: the file is no plan.
    """
    refuse_newer_schema(data, path)
    return decode_object(data, PackingPlan, path, "a valid packing plan", MEND)


def _store_plan(store: Store, stored: StoredPacking, plan: Packing) -> None:
    """Writes a plan's examples, unless the object already holds them."""
    tagged = store.read_tagged(stored.path)
    if tagged is None or hashlib.sha256(tagged[0]).hexdigest() != stored.sha256:
        with Uploads(store) as uploads:
            upload = uploads.open(stored.path)
            for piece in _encode_npy(plan):
                upload.write(piece)
            upload.close()


def _encode_npy(plan: Packing) -> Iterator[bytes]:
    """The bytes of a .npy file, format 1.0 (numpy's NEP 1), in pieces."""
    yield _npy_header(len(plan))
    for begin in range(0, len(plan), _PIECE):
        pair = (plan.first[begin : begin + _PIECE], plan.count[begin : begin + _PIECE])
        yield np.stack(pair, axis=1).astype("<i8").tobytes()


def _npy_header(examples: int) -> bytes:
    """The bytes of a plan's .npy file before its numbers."""
    head = BytesIO()
    header: dict[str, Any] = {"descr": "<i8", "fortran_order": False, "shape": (examples, 2)}
    np.lib.format.write_array_header_1_0(head, header)
    return head.getvalue()
