"""AttributeFolder: the files of attributes below one folder, those that are done, and their records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from gristmill.errors import DataError, RecipeError
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Entry, NoFolder, Store
from gristmill.stages.dolma_tagging.paths import TaggedFile
from gristmill.stages.dolma_tagging.records import FileRecord, TagManifest, read_manifest, receipts, write_manifest

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
        taggers: what makes the labels, each with its digest.
        recipe: digest with which the recipe of each file begins.
        files: the files.
        recipes: by name of a file what follows `recipe`, if its content depends on more than its documents.
        done: records of the files that are done, by name.
    """

    root: str
    made_by: str
    experiment: str
    taggers: dict[str, str]
    recipe: str
    files: Sequence[TaggedFile]
    recipes: Mapping[str, str] = field(default_factory=dict)
    done: Mapping[str, FileRecord] = field(default_factory=dict)

    def recipe_of(self, name: str) -> str:
        """The recipe of a file."""
        return self.recipe + self.recipes.get(name, "")

    def looked_up(self, options: Mapping[str, str], *, force: bool, again: bool = False) -> "AttributeFolder":
        """The folder with the files that are done.

        Args:
            options: of the bucket's client.
            force: whether files that others made are replaced, and records that do not fit are not read.
            again: whether no file counts as done.

        Raises:
            RecipeError: the attributes were made with other settings.
            DataError: a file of attributes is of somebody else, or a manifest was edited.
        """
        store = open_store(self.root, options)
        records = {} if force else self._records(store)
        done: dict[str, FileRecord] = {}
        foreign: list[str] = []
        for file in self.files:
            entry = _head(store, file.name)
            record = records.get(file.name)
            if entry is None:
                continue
            if record is None or not _is_ours(store, file.name, entry, record):
                foreign.append(f"{self.root}/{file.name}")
            elif record.sha256 and not again and _same(record, file) and record.recipe == self.recipe_of(file.name):
                done[file.name] = record
        if foreign and not force:
            more = f" and {len(foreign) - _SHOWN} more" if len(foreign) > _SHOWN else ""
            raise DataError(
                f"not made by this command, or changed since: {', '.join(foreign[:_SHOWN])}{more}; give another"
                f" {self._other}, or replace them with --force"
            )
        return replace(self, done=done)

    def _records(self, store: Store) -> dict[str, FileRecord]:
        """The records of the files below the folder."""
        try:
            manifest, newer = read_manifest(store), receipts(store)
        except NoFolder:
            return {}
        if manifest and (manifest.taggers, manifest.experiment) != (self.taggers, self.experiment):
            raise RecipeError(f"{store.url}: {self._differs(manifest)}; give another {self._other}, {_MEND}")
        if any(not record.recipe.startswith(self.recipe) for record in newer.values()):
            raise RecipeError(
                f"{store.url}: a run with other options began these files, and did not end; give another"
                f" {self._other}, {_MEND}"
            )
        return {**(manifest.files if manifest else {}), **newer}

    @property
    def _other(self) -> str:
        """The option that gives these files another folder."""
        return _OPTIONS.get(self.made_by, ("", "experiment"))[1]

    def _differs(self, manifest: TagManifest) -> str:
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

    def conclude(self, options: Mapping[str, str]) -> None:
        """Writes the manifest: what the one before had, and the receipts of this run.

        Args:
            options: of the bucket's client.
        """
        store = open_store(self.root, options)
        names = {file.name for file in self.files}
        newer = {name: record for name, record in receipts(store).items() if record.sha256}
        kept = {name: record for name, record in _kept(store).items() if name in names or store.head(name)}
        write_manifest(store, TagManifest(self.made_by, self.experiment, self.taggers, {**kept, **newer}))


def _same(record: FileRecord, file: TaggedFile) -> bool:
    """Whether a record is of the documents as they are."""
    stamp = (file.url, file.version.size, file.version.etag)
    return (record.input, record.version.size, record.version.etag) == stamp


def _is_ours(store: Store, name: str, entry: Entry, record: FileRecord) -> bool:
    """Whether a file is as this command left it. A file of a killed run has no digest yet."""
    if not record.sha256 or (record.output and record.output.same(entry)):
        return True
    digest = sha256()
    for piece in store.stream(name):
        digest.update(piece)
    return digest.hexdigest() == record.sha256


def _head(store: Store, name: str) -> Entry | None:
    try:
        return store.head(name)
    except NoFolder:
        return None


def _kept(store: Store) -> Mapping[str, FileRecord]:
    try:
        manifest = read_manifest(store)
    except DataError:  # --force
        return {}
    return manifest.files if manifest else {}
