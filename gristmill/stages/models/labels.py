"""Puts a labelled set into the lake: rows of a file, or documents of the lake, each with its label and its split."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.execution.work import Say
from gristmill.lake.address import Place, documents_asset, place
from gristmill.lake.asset_kinds import LABELS
from gristmill.lake.identity import Pair, digest_of
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.folders.whole_folder import is_whole
from gristmill.lake.rows.batches import TextRow
from gristmill.lake.rows.blocklists.blocklist import listed_pairs
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.draw import draw_fraction
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.recipes.code.digest import code_of_read
from gristmill.recipes.models.labelled_set import Draw, LabelledSet, check_label
from gristmill.recipes.raw_object import Copied, LeftOut, RawObject, Refused
from gristmill.stages.models.brought import IN_LAKE
from gristmill.stages.models.ledger import (
    FolderLedger,
    Inputs,
    find_folder_ledger,
    read_file,
    read_folder,
    write_folder,
)

ROWS = "rows.jsonl"
TRAIN: Literal["train"] = "train"
HELD_OUT: Literal["held-out"] = "held-out"
LARGEST = 2 << 30
"""Code points of all texts of a set: they are held in memory."""
CODE = "code"
"""The fact of a ledger with the digest of the code of `read`."""
LISTED = "documents on a blocklist"
"""The fact of a ledger with the digests of the documents that were left out for a blocklist, sorted."""
_ON_LIST = "on a blocklist"


class LabelledText(msgspec.Struct, frozen=True, gc=False):
    """A row of a labelled set.

    Attributes:
        id: id of the document.
        source: name of the document's source; for a file, the set's name.
        label: its label.
        split: whether it trains models or measures them.
        text: the text.
    """

    id: str
    source: str
    label: str
    split: Literal["train", "held-out"]
    text: str


_encode = msgspec.json.Encoder(order="sorted").encode


def make_labels(store: Store, labelled: LabelledSet, say: Say) -> tuple[FolderLedger, bool]:
    """Puts a labelled set into the lake. One that is there is kept if it is whole and is not due.

    It is due if the recipe or the documents that it is drawn from changed, or if why_due() says so.

    Args:
        store: the lake.
        labelled: the recipe.
        say: function that receives lines of progress.

    Returns:
        The ledger, and whether it was made now.

    Raises:
        RecipeError: the file is not the one of the recipe, a label is wrong, or the code of `read` was edited after
            this process had imported it.
        DataError: there are no texts, or all have the same label; or documents are not in the lake.
    """
    asset = LABELS.at(labels=labelled.name)
    old = find_folder_ledger(store, asset)
    code = code_of_read(labelled)
    if code.problem:
        raise RecipeError(f"{asset}: {code.problem}")
    inputs = drawn_inputs(store, labelled)
    same = old is not None and (old.recipe.digest, old.inputs) == (labelled.recipe.digest, inputs)
    if old is not None and same and is_whole(store, asset, old.files) and not why_due(store, labelled, old):
        return old, False
    dropped: Counter[str] = Counter()
    listed: set[Pair] = set()
    found = _rows_of_file(store, labelled, dropped) if labelled.file else _drawn_documents(store, labelled)
    rows = _split_labelled_texts(found, labelled, listed_pairs(store), dropped, listed)
    counts: Counter[tuple[str, str]] = Counter((row.split, row.label) for row in rows)
    _check_labels(labelled, {label for _, label in counts})
    several = len({(row.text, row.label) for row in rows}) - len({row.text for row in rows})
    facts: dict[str, Any] = {
        "rows": len(rows),
        "labels": {split: _split_counts(counts, split) for split in (TRAIN, HELD_OUT)},
        "left out": dict(sorted(dropped.items())),
    }
    facts |= {CODE: code.digest} if code.digest else {}
    facts |= {LISTED: sorted(map(_short_pair_digest, listed))} if listed else {}
    facts |= {"rows with another label of the same text": several} if several else {}
    data = b"".join(_encode(row) + b"\n" for row in rows)
    ledger = write_folder(store, asset, labelled.recipe, inputs, {ROWS: data}, (ROWS,), facts, old=old)
    left = ", ".join(f"{number:,} left out ({reason})" for reason, number in sorted(dropped.items()))
    say(f"{asset}: {len(rows):,} texts{', ' if left else ''}{left}")
    if several:
        say(f"{asset}: {several:,} rows have the text of another row, and another label; look at them")
    return ledger, True


def read_labels(store: Store, name: str) -> tuple[FolderLedger, list[LabelledText]]:
    """A labelled set of the lake: its ledger and its rows.

    Raises:
        DataError: the lake does not have it, or a file of it is damaged.
    """
    ledger = read_folder(store, LABELS.at(labels=name))
    return ledger, _read_labelled_texts(store, ledger)


def _read_labelled_texts(store: Store, ledger: FolderLedger) -> list[LabelledText]:
    lines = read_file(store, ledger, ROWS).splitlines()
    try:
        return [msgspec.json.decode(line, type=LabelledText) for line in lines]
    except msgspec.DecodeError as error:
        raise DataError(
            f"{ledger.asset}/{ROWS}: a row is no labelled text ({error}); make {ledger.asset} again"
        ) from error


def why_due(store: Store, labelled: LabelledSet, ledger: FolderLedger) -> str:
    """The reason why a labelled set of the same recipe and the same documents is made again, in words; empty: it is
    kept.

    The code of `read` changed, or blocklists name other documents of it than they did. Its rows are read only if the
    lake has blocklists. A ledger that has no digest of code is trusted.

    Args:
        store: the lake.
        labelled: the recipe.
        ledger: ledger of the set.

    Raises:
        DataError: a blocklist cannot be read, or a file of the set is damaged.
    """
    code = code_of_read(labelled)
    if CODE in ledger.facts and code.has_changed({ledger.facts[CODE]: ""}):
        return f"the code of {code.module} changed since it was made"
    blocked = listed_pairs(store)
    if blocked and any((row.source, row.id) in blocked for row in _read_labelled_texts(store, ledger)):
        return "it has a text of a document that a blocklist names"
    if _ON_LIST not in ledger.facts.get("left out", {}):
        return ""
    if LISTED not in ledger.facts:
        return "it left out documents that a blocklist named, and its ledger does not say which"
    back = not set(map(_short_pair_digest, blocked)).issuperset(ledger.facts[LISTED])
    return "it left out a document that no blocklist names any more" if back else ""


def _short_pair_digest(pair: Pair) -> str:
    """The short digest of a document that was left out: the ledger does not name it."""
    return digest_of(pair)[:16]


def _split_counts(counts: Counter[tuple[str, str]], split: str) -> dict[str, int]:
    return {label: number for (of, label), number in sorted(counts.items()) if of == split}


def _check_labels(labelled: LabelledSet, labels: set[str]) -> None:
    if len(labels) < 2:
        found = f"all texts have the label {min(labels)!r}" if labels else "there is no labelled text"
        raise DataError(f"labelled set {labelled.name!r}: {found}; a classifier needs two labels")
    for label in sorted(labels):
        check_label(label, f"labelled set {labelled.name!r}")


def _split_labelled_texts(
    found: Iterable[tuple[LabelledText, str]],
    labelled: LabelledSet,
    blocked: Collection[Pair],
    dropped: Counter[str],
    listed: set[Pair],
) -> list[LabelledText]:
    """The rows with their splits, each text with a label once in a split. Texts that are held out do not train.

    Args:
        found: rows, each with the split that its file gives; empty if it gives none.
        labelled: the recipe.
        blocked: the (source, id) of the documents that a blocklist names.
        dropped: counts the rows that are left out.
        listed: receives the (source, id) of those that are left out for a blocklist.

    Raises:
        DataError: the texts are too many, or a split has another name.
    """
    what = f"labelled set {labelled.name!r}"
    rows: list[LabelledText] = []
    seen: set[tuple[str, str, str]] = set()
    held: set[str] = set()
    size = 0
    for row, given in found:
        if given not in {"", TRAIN, HELD_OUT}:
            raise DataError(f"{what}: row {row.id!r} has the split {given!r}; give {TRAIN} or {HELD_OUT}")
        drawn = HELD_OUT if draw_fraction(("labels", row.text)) < labelled.held_out else TRAIN
        split = HELD_OUT if given == HELD_OUT or (not given and drawn == HELD_OUT) else TRAIN
        if (row.source, row.id) in blocked:
            dropped[_ON_LIST] += 1
            listed.add((row.source, row.id))
        elif not row.text.strip():
            dropped["empty text"] += 1
        elif (row.text, row.label, split) in seen:
            dropped["the same text and label once more"] += 1
        else:
            seen.add((row.text, row.label, split))
            rows.append(msgspec.structs.replace(row, split=split))
            held |= {row.text} if split == HELD_OUT else set()
            size += len(row.text)
        if size > LARGEST:
            raise DataError(f"{what}: more than {LARGEST:,} characters; draw a smaller share=, or bring a smaller file")
    kept = [row for row in rows if row.split == HELD_OUT or row.text not in held]
    if len(kept) < len(rows):
        dropped["in both splits, so it does not train"] += len(rows) - len(kept)
    return kept


def _drawn_partitions(draw: Draw) -> Iterator[Place]:
    """The partitions that documents are drawn from."""
    asset = documents_asset(draw.source, draw.version)
    yield from (place(asset, snapshot) for snapshot in sorted(draw.snapshots))


def drawn_inputs(store: Store, labelled: LabelledSet) -> Inputs:
    """The fingerprints of the partitions that documents are drawn from; none for a file.

    Raises:
        DataError: one is not in the lake.
    """
    return drawn_fingerprints(store, (draw for _, drawn in sorted(labelled.drawn.items()) for draw in drawn))


def drawn_fingerprints(store: Store, draws: Iterable[Draw]) -> Inputs:
    """The fingerprints of the partitions that documents are drawn from.

    Raises:
        DataError: one is not in the lake.
    """
    heads = [read_ledger(store, where)[0] for draw in draws for where in _drawn_partitions(draw)]
    return tuple(dict.fromkeys((head.asset, head.snapshot, head.fingerprint) for head in heads))


def _drawn_documents(store: Store, labelled: LabelledSet) -> Iterator[tuple[LabelledText, str]]:
    """The drawn documents, in order of label, snapshot, shard and row."""
    for label, drawn in sorted(labelled.drawn.items()):
        for draw in drawn:
            for row in drawn_documents(store, draw):
                yield LabelledText(row.id, row.source, label, TRAIN, row.text), ""


def drawn_documents(store: Store, draw: Draw) -> Iterator[TextRow]:
    """The documents of a draw, in order of snapshot, shard and row.

    Raises:
        DataError: a partition is not in the lake, or a file of it is damaged.
    """
    for where in _drawn_partitions(draw):
        for shard in read_ledger(store, where)[1]:
            for _, documents in open_shard(store, where, shard).rows(TextRow):
                yield from (row for row in documents if draw.share >= 1 or draw_fraction(row.pair) < draw.share)


def _rows_of_file(store: Store, labelled: LabelledSet, dropped: Counter[str]) -> Iterator[tuple[LabelledText, str]]:
    """The rows of a brought file. It is hashed first: a reader sees only the file of the recipe."""
    raw, where = brought_label_file(store, labelled)
    found = hashlib.sha256()
    for piece in raw.chunks():
        found.update(piece)
    if found.hexdigest() != labelled.sha256:
        raise RecipeError(
            f"labelled set {labelled.name!r}: {where} has sha256 {found.hexdigest()}, the recipe says"
            f" {labelled.sha256}; restore the file, or mend sha256="
        )
    raw, _ = brought_label_file(store, labelled)
    for row in labelled.read(raw) if labelled.read else ():
        document = msgspec.json.decode(row.line, type=Document) if isinstance(row, Copied) else row
        if isinstance(document, LeftOut):
            dropped[document.reason] += document.records
            continue
        if isinstance(document, Refused):
            dropped[f"refused: {document.reason}"] += 1
            continue
        metadata = document.metadata or {}
        value = metadata.get(labelled.label)
        named = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        label = labelled.labels.get(named) if labelled.labels else named
        given = metadata.get(labelled.split) if labelled.split else ""
        if value is None:
            dropped[f"without {labelled.label}"] += 1
        elif label is None:
            dropped[f"{labelled.label} is none of labels="] += 1
        else:
            yield LabelledText(document.id, labelled.name, label, TRAIN, document.text), str(given)
    for refused in raw.refused:
        dropped[f"refused: {refused.reason}"] += 1


def brought_label_file(store: Store, labelled: LabelledSet) -> tuple[RawObject, str]:
    """The file that a labelled set brings, and where it is.

    Args:
        store: the lake.
        labelled: the recipe.

    Raises:
        RecipeError: it is not there.
        StoreError: the lake does not answer.
    """
    given = labelled.file or ""
    if given.startswith(IN_LAKE):
        path = given.removeprefix(IN_LAKE).strip("/")
        found, where = store, f"{store.url}/{path}"
    else:
        local = Path(given).expanduser().absolute()
        if not local.is_file():
            raise RecipeError(f"labelled set {labelled.name!r}: no file {local}; mend file= of the recipe")
        found, path, where = open_store(str(local.parent), foreign=True), local.name, str(local)
    entry = found.head(path)
    if entry is None:
        raise RecipeError(f"labelled set {labelled.name!r}: no file {where}; mend file= of the recipe")
    return RawObject(found, path, path.rpartition("/")[2], entry.size), where
