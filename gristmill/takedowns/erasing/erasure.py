"""Erases documents from the raw data of a lake, and keeps a record of it in `withdrawn/`.

The record is written before the first object changes, and before and after each object. Each object is replaced in one
step. So a command that was killed has either replaced an object or left it as it was. The record says what the object
was to become; by that the next command sees which of both it is.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from gristmill.errors import DataError
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import MODEL, kind_of
from gristmill.lake.identity import Pair, digest_of
from gristmill.lake.ledger.derived import columns_path, examples_path
from gristmill.lake.ledger.files import as_json
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.erasures import (
    WITHDRAWN,
    ErasedObject,
    ErasureRecord,
    MediaFile,
    parse_erasure,
    read_erasure,
    read_erasures,
)
from gristmill.takedowns.erasing.erasure_plan import ErasurePlan, NotErasable, ObjectPlan
from gristmill.takedowns.erasing.named_media import WHY, media_still_present
from gristmill.takedowns.erasing.rewritten_object import rewrite_object
from gristmill.takedowns.places import FoundPlace, Search
from gristmill.takedowns.wanted import Wanted

Say = Callable[[str], None]


def erasure_record_path(pairs: Mapping[Pair, str]) -> str:
    """The path of the record of an erasure of these documents.

    >>> erasure_record_path({("pages", "doc-8"): "asked"})
    'withdrawn/f6e76ccabcfa33fd.json'
    """
    return f"{WITHDRAWN}{digest_of(sorted(pairs))[:16]}.json"


def was_erased_before(store: Store, wanted: Wanted) -> bool:
    """Whether a record names these documents: they were cut before, or had to be erased by hand.

    Args:
        store: the lake.
        wanted: the documents.

    Raises:
        DataError: the record is wrong.
    """
    return read_erasure(store, erasure_record_path(wanted.reasons)) is not None


def unfinished_erasures(store: Store, wanted: Wanted) -> dict[str, list[str]]:
    """The records of erasures of these documents that have not ended, and what is left of each, in words.

    Such an erasure was killed, or could not replace every object. Raw objects that it has not replaced have the bytes
    of before, also those whose rows no document was made from.

    Args:
        store: the lake.
        wanted: the documents. A record counts if it names one of them.

    Raises:
        DataError: a record is wrong.
    """
    found: dict[str, list[str]] = {}
    for path, record in read_erasures(store):
        if record.done or not any(each[:2] in wanted.reasons for each in record.documents):
            continue
        now = _settle_begun(store, record.objects, {each[:2] for each in record.documents})
        left = [name for name, each in now.items() if each.after is None and store.head(name) is not None]
        words = [f"{name} is not replaced" for name in left] + list(record.left)
        found[path] = words or ["every object is replaced, but it was killed before its end"]
    return found


def erase_documents(
    store: Store, wanted: Wanted, search: Search, plan: ErasurePlan, say: Say, *, dry_run: bool = False
) -> list[NotErasable]:
    """Rewrites the raw objects of a plan, and removes derived files with the documents.

    A dry run makes and compares the new objects too, and changes nothing in the lake.

    Args:
        store: the lake.
        wanted: the documents.
        search: their places.
        plan: plan of what must be cut.
        say: function that receives a line for each object.
        dry_run: whether nothing changes.

    Returns:
        What could not be erased: that of the plan, labelled rows, and objects that must not be rewritten.

    Raises:
        DataError: a record of an earlier erasure is wrong.
        Conflict: another command erases the same documents at this moment; run again.
        StoreError: the lake does not answer.
    """
    record = _KeptRecord(store, wanted, search.texts, plan.media, is_written=not dry_run)
    earlier = _settle_begun(store, record.earlier, wanted.reasons.keys())
    left = list(_unerasable_by_plan(store, record, search, plan, earlier))
    todo = {each.path: each for each in plan.objects.values() if not _is_erased(store, each, earlier)}
    objects = {**earlier, **{name: _erased_object_plan(each, earlier.get(name)) for name, each in todo.items()}}
    record.write(objects, left, done=False)
    store.delete([] if dry_run else _derived_file_paths(search))

    def announce(cut: ObjectPlan, coming: str) -> None:
        objects[cut.path] = ErasedObject(cut.sha256, None, len(cut.cuts), coming)
        record.write(objects, left, done=False)

    for name, cut in todo.items():
        try:
            made = rewrite_object(store, cut, wanted, None if dry_run else partial(announce, cut))
        except DataError as error:
            objects |= _settle_begun(store, {name: earlier[name]}, wanted.reasons.keys()) if name in earlier else {}
            left += [NotErasable(pair, name, str(error).removeprefix(f"{name}: ")) for pair in wanted.reasons]
            continue
        objects[name] = ErasedObject(made.before, made.after, made.records, stays=made.stays)
        left += _unerased_replacements(name, objects[name], wanted)
        record.write(objects, left, done=False)
        say(f"would erase {made.records} records of {name}" if dry_run else made.summary)
    record.write(objects, left, done=not left)
    say(f"{'would write' if dry_run else 'record'}: {record.path}")
    return left


def _unerasable_by_plan(
    store: Store, record: "_KeptRecord", search: Search, plan: ErasurePlan, earlier: Mapping[str, ErasedObject]
) -> Iterator[NotErasable]:
    """What no object of a plan rids the lake of."""
    yield from (each for each in plan.impossible if not any(_is_removed(store, at, earlier) for at in each.missing))
    yield from (NotErasable(each.pair, each.where, _erasure_mend(each.asset)) for each in _found_in(search, "labels"))
    yield from (NotErasable((each.source, each.id), f"{each.root}/{each.name}", WHY) for each in record.media)
    for name, old in earlier.items():
        yield from _unerased_replacements(name, old, record.wanted)


class _KeptRecord:
    """The record of an erasure. Each of its versions replaces the one that this command read or wrote before.

    So of two commands that erase the same documents at once, one ends, and what the other has written stays.

    Args:
        store: the lake.
        wanted: the documents.
        texts: the documents of each digest of a text.
        media: the media files that the documents name.
        is_written: whether it is no dry run.

    Attributes:
        wanted: the documents.
        path: the path of the record.
        earlier: the objects that an earlier erasure of the same documents has replaced, or was to replace.
        media: the media files that the documents name, or named before they were cut, and that are still there.

    Raises:
        DataError: the record is wrong.
    """

    def __init__(
        self,
        store: Store,
        wanted: Wanted,
        texts: Mapping[str, list[Pair]],
        media: Sequence[MediaFile] = (),
        *,
        is_written: bool = True,
    ) -> None:
        self._store, self.wanted, self.path = store, wanted, erasure_record_path(wanted.reasons)
        self._is_written = is_written
        own = {digest: tuple(sorted(wanted.reasons.keys() & set(pairs))) for digest, pairs in texts.items()}
        self._texts = {digest: pairs for digest, pairs in own.items() if pairs}
        tagged = store.read_tagged(self.path)
        self._etag = tagged[1] if tagged else None
        before = parse_erasure(tagged[0], self.path) if tagged else None
        self.earlier = before.objects if before else {}
        known = media_still_present(store, before.media) if before else ()
        self.media = tuple(dict.fromkeys((*known, *media)))

    def write(self, objects: Mapping[str, ErasedObject], left: Sequence[NotErasable], *, done: bool) -> None:
        """Writes the record.

        Raises:
            Conflict: another command that erases these documents has written it meanwhile.
        """
        if not self._is_written:
            return
        documents = tuple((*pair, reason) for pair, reason in self.wanted.reasons.items())
        words = tuple(dict.fromkeys(f"{each.where}: {each.why}" for each in left))
        data = as_json(ErasureRecord(1, documents, dict(objects), words, done, self._texts, self.media))
        self._etag = self._store.put_if(self.path, data, self._etag).etag


def _erased_object_plan(cut: ObjectPlan, begun: ErasedObject | None) -> ErasedObject:
    """What is known of an object before it is replaced; `begun` if another command has announced to replace it."""
    return ErasedObject(cut.sha256, None, len(cut.cuts), begun.coming if begun else None)


def _derived_file_paths(search: Search) -> list[str]:
    """The columns and excerpts that have the documents."""
    derived = {columns_path(place(each.asset, each.snapshot), each.shard) for each in _found_in(search, "columns")}
    return sorted(derived | {examples_path(place(each.asset, each.snapshot)) for each in _found_in(search, "examples")})


def _erasure_mend(asset: str) -> str:
    """What to do about a row of a labelled set, or of the test items of a model."""
    again = f"make it again (gristmill make LAKE {asset}), then erase again"
    if kind_of(asset) is MODEL:
        return f"a model never changes: remove the folder {asset}/, {again}"
    return f"{again}; if people brought its file, first remove the row there"


def _unerased_replacements(path: str, cut: ErasedObject, wanted: Wanted) -> list[NotErasable]:
    """What was not erased although its object was replaced: its bytes may still be on the disk."""
    return [NotErasable(pair, path, cut.stays) for pair in wanted.reasons if cut.stays]


def _settle_begun(
    store: Store, objects: Mapping[str, ErasedObject], pairs: Collection[Pair]
) -> dict[str, ErasedObject]:
    """What became of objects whose replacement had begun, or was to begin, when a command was killed.

    An object is replaced if it has the announced bytes, or had them when another erasure began with it. Or another
    erasure has replaced the object of before, and its documents were cut there too.
    """
    others: list[ErasureRecord] | None = None
    settled = dict(objects)
    for path, old in objects.items():
        if old.after is not None:
            continue
        now = hash_object(store, path) if store.head(path) is not None else ""
        if now == old.coming:
            settled[path] = ErasedObject(old.before, now, old.records, stays=old.stays)
        elif now != old.before:
            others = [record for _, record in read_erasures(store)] if others is None else others
            settled[path] = _replaced_by_others(others, path, old, pairs)
    return settled


def _replaced_by_others(
    others: Sequence[ErasureRecord], path: str, old: ErasedObject, pairs: Collection[Pair]
) -> ErasedObject:
    for record in others:
        cut = record.objects.get(path)
        if cut is None:
            continue
        if old.coming is not None and cut.before == old.coming:
            return ErasedObject(old.before, old.coming, old.records, stays=old.stays)
        if cut.before == old.before and cut.after is not None and {*pairs} <= {each[:2] for each in record.documents}:
            return ErasedObject(old.before, cut.after, old.records, stays=cut.stays)
    return old


def _is_removed(store: Store, path: str, earlier: Mapping[str, ErasedObject]) -> bool:
    """Whether an earlier command has removed an object, because nothing was left of it."""
    return path in earlier and earlier[path].after == "" and store.head(path) is None


def _is_erased(store: Store, plan: ObjectPlan, earlier: Mapping[str, ErasedObject]) -> bool:
    """Whether an earlier command has replaced an object, and its documents were not made again since."""
    old = earlier.get(plan.path)
    if old is None or old.after is None or old.before != plan.sha256:
        return False
    return store.head(plan.path) is not None and hash_object(store, plan.path) == old.after


def _found_in(search: Search, area: str) -> list[FoundPlace]:
    return [each for each in search.found if each.area == area]
