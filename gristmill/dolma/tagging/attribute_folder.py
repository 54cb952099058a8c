"""AttributeFolder: the files of attributes below one folder, those that are done, and their records."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from gristmill.dolma.tagging.inputs import Inputs
from gristmill.dolma.tagging.paths import TaggedFile
from gristmill.dolma.tagging.records import (
    FileRecord,
    TagManifest,
    head_or_none,
    open_output_folder,
    read_manifest,
    read_receipts,
    remove_receipts,
    replace_manifest,
)
from gristmill.dolma.tagging.run_claim import claim_folder_for_process, remove_ended_claims
from gristmill.errors import AtWork, DataError, GristmillError, RecipeError
from gristmill.lake.identity import digest_of
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Entry, NoFolder, Store

_SHOWN = 5
_MEND = "or make all again with --force"
_OPTIONS = {"gristmill dolma mix": ("the streams", "output.path"), "gristmill dolma dedupe": ("", "dedupe.name")}
"""What a command other than `dolma tag` makes its files with, and the option that gives them another folder."""


@dataclass(frozen=True)
class AttributeFolder:
    """Attributes below one folder: what they are, which files they have, and which of these are done.

    Attributes:
        root: the folder or address.
        made_by: the command that makes them.
        experiment: its name, as manifests have it.
        taggers: tagger that makes the labels, each with its digest.
        recipe: digest with which the recipe of each file begins.
        files: the files.
        recipes: text that follows `recipe` in a record, by the name of a file, if its content depends on more than its
            documents.
        alone: whether the folder may have no other outputs: who reads it takes all files.
        kin: regular expression of the names that a reader would take for outputs of this run, if `alone`.
        done: records of the files that are done, by name.
        stale: outputs of earlier runs that these documents do not give any more, and that must go, by name: all if
            `alone`, else those that were made with other options.
        left: such outputs that stay: another step may need them.
        foreign: names of files of others that this run is told to replace.
        forced: whether records that do not fit were not read.
        seen: digest of all records, when the files were looked up.
        claim: path of the claim of this run; empty before it begins.
    """

    root: str
    made_by: str
    experiment: str
    taggers: dict[str, str]
    recipe: str
    files: Sequence[TaggedFile]
    recipes: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False
    kin: str = ""
    done: Mapping[str, FileRecord] = field(default_factory=dict)
    stale: Sequence[str] = ()
    left: Sequence[str] = ()
    foreign: Collection[str] = ()
    forced: bool = False
    seen: str = ""
    claim: str = ""

    def recipe_of_file(self, name: str) -> str:
        """The recipe of a file."""
        return self.recipe + self.recipes.get(name, "")

    def looked_up(
        self, options: Mapping[str, str], inputs: Inputs, *, force: bool, again: bool = False
    ) -> "AttributeFolder":
        """The folder with the files that are done.

        Args:
            options: options of the bucket's client.
            inputs: files that the run reads: none of it is removed.
            force: whether files that others made are replaced, and records that do not fit are not read.
            again: whether no file counts as done.

        Raises:
            RecipeError: the attributes were made with other settings, or what an earlier run made is read.
            DataError: a file of attributes is of somebody else, an earlier run left others, or a manifest was edited.
        """
        store = open_output_folder(self.root, options)
        known = self._file_records(store, force=force)
        records = {} if force else known
        done: dict[str, FileRecord] = {}
        foreign: list[str] = []
        for file in self.files:
            entry = head_or_none(store, file.name)
            record = records.get(file.name)
            if entry is None:
                continue
            if record is None or not _is_ours(store, file.name, entry, record):
                foreign.append(file.name)
            elif (
                record.sha256
                and not again
                and record.recipe == self.recipe_of_file(file.name)
                and _is_same_record(record, file, options)
            ):
                done[file.name] = record
        if foreign and not force:
            paths = first_names([f"{self.root}/{name}" for name in foreign])
            raise DataError(
                f"not made by this command, or changed since: {paths};"
                f" give another {self._other_folder_option}, or replace them with --force"
            )
        there = self._not_given(store, known, inputs)
        stale = {name: each for name, each in there.items() if self.alone or not self._is_same(known[name])}
        inputs.check_removed(self.root, stale)
        self._check_stale(store, known, stale, force=force)
        found = replace(self, stale=list(stale), left=sorted(there.keys() - stale.keys()), seen=_records_digest(known))
        return replace(found, done=done, foreign=set(foreign), forced=force)

    def _not_given(self, store: Store, known: Mapping[str, FileRecord], inputs: Inputs) -> dict[str, Entry]:
        """The outputs of earlier runs that these files do not replace.

        If the folder may have other outputs, they are those that documents of these patterns gave.
        """
        other = sorted(known.keys() - {file.name for file in self.files})
        mine = (name for name in other if self.alone or inputs.matches(known[name].input))
        return {name: entry for name in mine if (entry := head_or_none(store, name))}

    def _check_stale(
        self, store: Store, known: Mapping[str, FileRecord], stale: Mapping[str, Entry], *, force: bool
    ) -> None:
        """Checks that outputs of earlier runs may go, and that nothing else is in their way."""
        if self.alone:
            self._check_others(store, {*known, *(file.name for file in self.files)})
        if stale and not force:
            raise DataError(
                f"{self.root}: an earlier run wrote {first_names(list(stale))}, which these documents do not give any"
                f" more; give another {self._other_folder_option}, or remove them, as --force does"
            )
        changed = [name for name, entry in stale.items() if not _is_ours(store, name, entry, known[name])]
        if changed:
            raise DataError(
                f"{self.root}: {first_names(changed)} have changed since an earlier run wrote them, and these documents"
                f" do not give them any more; move them away, or give another {self._other_folder_option}"
            )

    def _check_others(self, store: Store, known: Collection[str]) -> None:
        """Checks that no file of others is there that a reader would take for an output of this run.

        No record says who made it, so it is not removed, with --force neither.
        """
        looks = re.compile(self.kin).fullmatch
        try:
            others = [e.path for e in store.list("", tell=lambda _: None) if looks(e.path) and e.path not in known]
        except NoFolder:
            return
        if others:
            raise DataError(
                f"{self.root}: these look like outputs of this run, and no record says that this command made them:"
                f" {first_names(others)}; who reads the outputs would read them too. Move them away, or give another"
                f" {self._other_folder_option}"
            )

    def _file_records(self, store: Store, *, force: bool) -> dict[str, FileRecord]:
        """The records of the files below the folder."""
        try:
            manifest, newer = _usable_manifest(store) if force else read_manifest(store), read_receipts(store)
        except NoFolder:
            return {}
        if not force:
            self._check_manifest(store, manifest, newer)
        return {**(manifest.files if manifest else {}), **newer}

    def _check_manifest(self, store: Store, manifest: TagManifest | None, newer: Mapping[str, FileRecord]) -> None:
        if manifest and (manifest.taggers, manifest.experiment) != (self.taggers, self.experiment):
            raise RecipeError(
                f"{store.url}: {self._differing_options(manifest)}; give another {self._other_folder_option}, {_MEND}"
            )
        if any(not self._is_same(record) for record in newer.values()):
            raise RecipeError(
                f"{store.url}: a run with other options began these files, and did not end; give another"
                f" {self._other_folder_option}, {_MEND}"
            )

    @property
    def _other_folder_option(self) -> str:
        """The option that gives these files another folder."""
        return _OPTIONS.get(self.made_by, ("", "experiment"))[1]

    def _differing_options(self, manifest: TagManifest) -> str:
        """What the files were made with, and with what they would be made now."""
        if manifest.made_by != self.made_by:
            return f"made by {manifest.made_by}"
        before, now = ", ".join(manifest.taggers), ", ".join(self.taggers)
        now += " with other options" if now == before else ""
        if self.made_by not in _OPTIONS:
            experiment = f"made with experiment {manifest.experiment!r} and the taggers {before}"
            return f"{experiment}; now they are {self.experiment!r} and {now}"
        made_by, _ = _OPTIONS[self.made_by]
        return f"made by {made_by} {before}; now by {now}" if made_by else "made with other options"

    def claim_if_needed(self, options: Mapping[str, str]) -> "AttributeFolder":
        """The folder, claimed if there is work. What killed runs have left and the outputs that must go are removed.

        Args:
            options: options of the bucket's client.

        Raises:
            AtWork: another run writes below it, or has done so since the files were looked up.
            RecipeError: a run with other settings has begun or made files since then.
        """
        store = open_output_folder(self.root, options)
        if len(self.done) == len(self.files) and not self.stale:
            remove_ended_claims(store)
            store.sweep()
            return self
        settings = digest_of([self.made_by, self.experiment, self.taggers, self.recipe])
        claim = claim_folder_for_process(store, settings, {} if self.alone else self.recipes, alone=self.alone)
        try:
            known = self._file_records(store, force=self.forced)
            lost = any(known.get(name) != record for name, record in self.done.items())
            if lost or ((self.alone or self.stale) and _records_digest(known) != self.seen):
                raise AtWork(f"{self.root}: another run has written here since this one looked; run again")
        except GristmillError:
            store.delete([claim])
            raise
        store.sweep()
        store.delete(self.stale)
        remove_receipts(store, self.stale)
        return replace(self, claim=claim)

    def write_manifest(self, options: Mapping[str, str]) -> None:
        """Writes the manifest: what the one before had, and the receipts of this run. Then these and the claim go.

        A run without work has no claim. If another run has begun meanwhile, the records are left to that one.

        Args:
            options: options of the bucket's client.
        """
        store = open_output_folder(self.root, options)
        if not self.claim and _records_digest(self._file_records(store, force=True)) != self.seen:
            return
        names = {file.name for file in self.files}
        there = read_receipts(store)
        newer = {
            name: each for name, each in there.items() if each.sha256 and self._is_expected_receipt(name, each, names)
        }

        def changed(old: TagManifest | None) -> TagManifest:
            same = old and (old.made_by, old.taggers, old.experiment) == (self.made_by, self.taggers, self.experiment)
            files = old.files if old and same else {}
            kept = {name: each for name, each in files.items() if name in names or store.head(name)}
            return TagManifest(self.made_by, self.experiment, self.taggers, {**kept, **newer})

        replace_manifest(store, changed)
        void = (name for name, each in there.items() if not self._is_expected_receipt(name, each, names))
        remove_receipts(store, [*newer, *void])
        store.delete([self.claim] if self.claim else [])
        store.sweep()

    def _is_expected_receipt(self, name: str, record: FileRecord, names: Collection[str]) -> bool:
        """Whether a receipt is of a file that this folder may have."""
        return name in names if self.alone else self._is_same(record)

    def _is_same(self, record: FileRecord) -> bool:
        """Whether a file was made with these options."""
        return record.recipe.startswith(self.recipe)


def _is_same_record(record: FileRecord, file: TaggedFile, options: Mapping[str, str]) -> bool:
    """Whether a record is of the documents as they are.

    A file that was rewritten in place may have its size and its time of before, but not its ctime. Another name or
    other rights change the ctime too. So the documents are read then. Several files that are read as one have no
    digest: their output is made again.
    """
    stamp = (file.url, file.version.size, file.version.etag)
    if (record.input, record.version.size, record.version.etag) != stamp:
        return False
    if record.version.changed in {0, file.version.changed}:
        return True
    if record.input_sha256 == record.version.etag:
        return False
    store = open_store(file.root, options, foreign=True)
    return hash_object(store, file.path) == record.input_sha256


def _is_ours(store: Store, name: str, entry: Entry, record: FileRecord) -> bool:
    """Whether a file is as this command left it. A killed run has left what it was to replace, or what was coming."""
    if record.output and record.output.same(entry):
        return True
    recorded = record.sha256 or record.coming
    return bool(recorded) and hash_object(store, name) == recorded


def _records_digest(records: Mapping[str, FileRecord]) -> str:
    return digest_of(msgspec.to_builtins(records))


def _usable_manifest(store: Store) -> TagManifest | None:
    """The manifest; None if --force can use no manifest."""
    try:
        return read_manifest(store)
    except DataError:
        return None


def first_names(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    Args:
        names: names of files.
    """
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
