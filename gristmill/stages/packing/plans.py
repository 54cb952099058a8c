"""Packing plans in the lake: how each split of a token cache becomes examples of one length, before anybody trains."""

import hashlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import msgspec
import numpy as np

from gristmill.errors import DataError, RecipeError
from gristmill.execution.work import Say
from gristmill.lake.address import SPLITS, cache_asset, packing_stem
from gristmill.lake.ledger.files import dump
from gristmill.lake.store.protocol import Store, put_unless_same
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Format
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.packing.packer import Plan, rule_of
from gristmill.stages.packing.report import Report, examine
from gristmill.stages.token_cache.token_stream import TokenStream, open_split

MEND = "materialize the cache's packing again"
_PIECE = 1 << 18


class Stored(msgspec.Struct, frozen=True):
    """Where a plan's examples lie: a .npy file, int64, (examples, 2): the first document of each, and how many."""

    path: str
    sha256: str


class Planned(msgspec.Struct, frozen=True):
    """The plan of a split.

    Attributes:
        schema: 1.
        cache: the address of the stream's token cache.
        split: `train` or `validation`.
        ledger: sha256 of the split's merged ledger: of another one, this is not the plan.
        fill_rate: see Report.
        examples: None where documents are not packed.
        report: what the examples hold.
    """

    schema: int
    cache: str
    split: str
    ledger: str
    fill_rate: float
    examples: Stored | None
    report: Report


def plan_cache(store: Store, mix: Mix, tokenizer: Tokenizer, length: int, say: Say) -> list[Planned]:
    """Plans all splits of a token cache, as its index has merged them, for examples of so many tokens.

    Raises:
        DataError: the index is not there yet, the cache is damaged, or a document is too long and must not be cut.
        RecipeError: the length is none.
    """
    planned: list[Planned] = []
    for stream in mix.streams:
        for split in SPLITS if mix.validation else SPLITS[:1]:
            asset = cache_asset(mix.name, tokenizer.name, stream.key)
            stem = packing_stem(mix.name, tokenizer.name, stream.key, split, length)
            planned.append(_plan_split(store, open_split(store, asset, split), stream.format, length, (asset, stem)))
            report = planned[-1].report
            say(f"{stream.key} {split}: {report.documents} documents, {report.examples} examples")
    return planned


def _plan_split(store: Store, sequence: TokenStream, form: Format, length: int, names: tuple[str, str]) -> Planned:
    asset, stem = names
    try:
        report, plan = examine(sequence, form, length)
    except DataError as error:
        raise DataError(f"{sequence.path}: {error}") from error
    stored = None if plan is None else _store(store, f"{stem}.npy", plan)
    split = sequence.path.rpartition("/")[2]
    made = Planned(1, asset, split, sequence.sha256, round(report.fill_rate, 6), stored, report)
    put_unless_same(store, f"{stem}.json", dump(made) + b"\n")  # last: it names the other
    return made


def read_plan(store: Store, sequence: TokenStream, form: Format, stem: str) -> Plan:
    """A plan that was made for this very split.

    Args:
        store: the lake.
        sequence: the split, opened.
        form: its format.
        stem: `address.packing_stem` of the plan.

    Raises:
        DataError: there is none, it was made for the split as it was, or its bytes are not what was written.
        RecipeError: documents of this format are not packed.
    """
    found = store.read_tagged(f"{stem}.json")
    if found is None:
        raise DataError(f"{stem}.json: not there yet; materialize the cache's packing")
    try:
        planned = msgspec.json.decode(found[0], type=Planned)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{stem}.json: no packing plan ({error}); {MEND}") from error
    rule = rule_of(form, planned.report.length)
    if planned.examples is None or rule is None:
        raise RecipeError(f"{stem}.json: documents of format {form.type} are not packed; read them without a plan")
    said = (planned.ledger, planned.report.segments, planned.report.slice_strategy)
    if said != (sequence.sha256, rule.segments, rule.slice):
        raise DataError(f"{stem}.json: made for the cache or its format as it was; {MEND}")
    tagged = store.read_tagged(planned.examples.path)
    if tagged is None or hashlib.sha256(tagged[0]).hexdigest() != planned.examples.sha256:
        raise DataError(f"{planned.examples.path}: missing, or not the one that {stem}.json names; {MEND}")
    pairs = np.load(BytesIO(tagged[0]), allow_pickle=False)
    return Plan(rule, pairs[:, 0], pairs[:, 1])


def _store(store: Store, path: str, plan: Plan) -> Stored:
    """Writes a plan's examples, unless they are there already."""
    digest, size = hashlib.sha256(), 0
    for piece in _npy(plan):
        digest.update(piece)
        size += len(piece)
    stored = Stored(path, digest.hexdigest())
    there = store.head(path)
    if there is None or there.size != size or hashlib.sha256(store.read(path)).hexdigest() != stored.sha256:
        upload = store.upload(path)
        try:
            for piece in _npy(plan):
                upload.write(piece)
        except BaseException:
            upload.abort()
            raise
        upload.close()
    return stored


def _npy(plan: Plan) -> Iterator[bytes]:
    """The bytes of a .npy file, format 1.0 (numpy's NEP 1)."""
    head = BytesIO()
    form: dict[str, Any] = {"descr": "<i8", "fortran_order": False, "shape": (len(plan), 2)}
    np.lib.format.write_array_header_1_0(head, form)
    yield head.getvalue()
    for begin in range(0, len(plan), _PIECE):
        pair = (plan.first[begin : begin + _PIECE], plan.count[begin : begin + _PIECE])
        yield np.stack(pair, axis=1).astype("<i8").tobytes()
