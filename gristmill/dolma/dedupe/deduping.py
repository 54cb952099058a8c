"""One run of `dolma dedupe`: finds the files, leaves out what is done, and marks the others in one process.

A mark depends on all files before. So the recipe of each file of attributes has a digest of the documents up to it, and
a run that writes one file reads those before it. Files behind the last one that is missing are not read, unless their
keys are to be saved. With `read_only` a mark depends on the saved keys alone.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gristmill.dolma.dedupe.config import DedupeConfig
from gristmill.dolma.dedupe.files import compared_files
from gristmill.dolma.dedupe.marking import Marker
from gristmill.dolma.dedupe.saved_keys import SavedKeys
from gristmill.dolma.tagging.attribute_folder import AttributeFolder
from gristmill.dolma.tagging.file_run import FilePlan, hold_folder_claims
from gristmill.dolma.tagging.inputs import Inputs
from gristmill.dolma.tagging.packing import PackedUpload
from gristmill.dolma.tagging.paths import TaggedFile, resolve_output_links
from gristmill.dolma.tagging.records import FileRecord, RecordedUpload, open_output_folder
from gristmill.errors import RecipeError, undone_at_failure
from gristmill.execution.work import ProgressLine, Say
from gristmill.lake.identity import digest_of
from gristmill.lake.rows.foreign_file import ForeignFile
from gristmill.lake.store.open import open_store

MADE_BY = "gristmill dolma dedupe"
_TAGGER = "dedupe"


@dataclass(frozen=True)
class KnownKeys:
    """Saved keys that documents are compared with, and their sha256: see SavedKeys.load()."""

    file: SavedKeys
    digest: str


@dataclass(frozen=True)
class KeysToSave:
    """The keys of a run, which go to a file at its end: see SavedKeys.save()."""

    file: SavedKeys
    documents: str
    inputs: str
    replaces: str | None


@dataclass(frozen=True, kw_only=True)
class DedupePlan(FilePlan):
    """What is to be done.

    Attributes:
        files: the files to read, in the order of comparison.
        missing: files whose attributes are missing.
        known: the keys that the documents are compared with; None: they are compared with each other.
        keys: the keys to save; None: none, or they are saved.
    """

    files: Sequence[TaggedFile]
    missing: frozenset[TaggedFile]
    known: KnownKeys | None = None
    keys: KeysToSave | None = None


def plan_dedupe(config: DedupeConfig, options: Mapping[str, str], *, force: bool = False) -> DedupePlan:
    """Finds the files, and what is missing.

    Args:
        config: configuration that says what is compared.
        options: options of the bucket's client.
        force: whether files that others made are replaced, and records that do not fit are not read.

    Returns:
        The plan: the files to read, and those to write.

    Raises:
        RecipeError: the file of keys is missing, or of others; no file matches; or the attributes were made with other
            options.
        DataError: a file of attributes is of somebody else, or a manifest was edited, or the keys are damaged.
    """
    files, missed = compared_files(config, options)
    saved = SavedKeys(config.numbered_name(config.bloom_file), options) if config.bloom_file else None
    inputs = _safe_inputs(files, saved, config)
    known = _load_known_keys(saved, config) if saved and config.read_only else None
    chain = hashlib.sha256()
    folders: dict[str, dict[str, tuple[TaggedFile, str]]] = {}
    for file in files:
        changed = [file.version.changed] if file.version.changed else []  # a time that nobody can set back
        chain.update(msgspec.json.encode([file.url, file.version.size, file.version.etag, *changed]))
        recipe = known.digest if known else chain.hexdigest()
        folders.setdefault(resolve_output_links(file.output), {})[file.name] = file, recipe[:16]
    looked_up = [
        _compare_with_manifest(root, named, config, inputs, options, force=force) for root, named in folders.items()
    ]
    missing = frozenset(files) - {file for folder in looked_up for file in folder.files if file.name in folder.done}
    keys = None
    if known:
        read = [file for file in files if file in missing]
    else:
        keys = _keys_to_save(saved, config, chain.hexdigest(), force=force) if saved else None
        last = max((number for number, file in enumerate(files, 1) if file in missing), default=0)
        read = files if keys else files[:last]
    return DedupePlan(folders=looked_up, missed=missed, files=read, missing=missing, known=known, keys=keys)


def _safe_inputs(files: Sequence[TaggedFile], saved: SavedKeys | None, config: DedupeConfig) -> Inputs:
    """What is read, once it is clear that no output is among it. The keys are read or written."""
    attributes = [(file.output, file.name) for file in files]
    keys = [saved] if saved else []
    inputs = Inputs([*files, *keys], config.documents)
    inputs.check_written(attributes)
    if not config.read_only:
        Inputs(files, config.documents).check_written((each.root, each.name) for each in keys)
    return inputs


def _load_known_keys(saved: SavedKeys, config: DedupeConfig) -> KnownKeys:
    header = saved.header()
    if header is None:
        raise RecipeError(
            f"bloom_filter.file: there is no {config.numbered_name(config.bloom_file)}; first run the step"
            " that fills it, with `read_only: false` (docs/how-to/dolma-dedupe.md)"
        )
    return KnownKeys(saved, header.sha256)


def _keys_to_save(saved: SavedKeys, config: DedupeConfig, inputs: str, *, force: bool) -> KeysToSave | None:
    """The keys to save; None if they are saved. A file with keys of other documents is refused.

    Dolma would add to it, and a second run would find each document in it.
    """
    patterns = [each if "://" in each else str(Path(each).absolute()) for each in config.documents]
    documents, read = digest_of([config.digest, patterns]), digest_of([config.digest, inputs])
    keys = KeysToSave(saved, documents, read, saved.etag())
    header = None if force else saved.header()
    if header and header.inputs == keys.inputs:
        return None
    if header and header.documents != keys.documents:
        raise RecipeError(
            f"bloom_filter.file: {config.numbered_name(config.bloom_file)} has keys of other `documents` or options."
            " The toolkit would add to them; give all documents to one run, or give another path, or remove the file"
        )
    return keys


def _compare_with_manifest(
    root: str,
    named: Mapping[str, tuple[TaggedFile, str]],
    config: DedupeConfig,
    inputs: Inputs,
    options: Mapping[str, str],
    *,
    force: bool,
) -> AttributeFolder:
    files = [file for file, _ in named.values()]
    recipes = {name: recipe for name, (_, recipe) in named.items()}
    taggers = {_TAGGER: config.digest}
    folder = AttributeFolder(root, MADE_BY, config.name, taggers, config.digest, files, recipes)
    return folder.looked_up(options, inputs, force=force)


def run_dedupe(plan: DedupePlan, config: DedupeConfig, options: Mapping[str, str], say: Say) -> int:
    """Writes the files that are missing, the keys and the manifests.

    Args:
        plan: plan from plan_dedupe().
        config: configuration of the plan.
        options: options of the bucket's client.
        say: function that takes lines of progress.

    Returns:
        How many documents were read.

    Raises:
        DataError: a file cannot be read. The files before it are done, and the next run keeps them.
        StoreError: a store does not answer.
    """
    documents = 0
    with hold_folder_claims(plan.folders, options) as folders:
        marker = Marker(config, plan.known.file.load(plan.known.digest) if plan.known and plan.files else None)
        homes = {file: folder for folder in folders for file in folder.files}
        for number, file in enumerate(plan.files):
            documents += _mark_file(marker, file, homes[file] if file in plan.missing else None, config, options)
            say(
                ProgressLine(
                    f"{number + 1:,} of {len(plan.files):,} files, {marker.distinct_key_count:,} different keys"
                )
            )
        if plan.keys:
            plan.keys.file.save(marker.seen, plan.keys.documents, plan.keys.inputs, plan.keys.replaces)
    return documents


def _mark_file(
    marker: Marker, file: TaggedFile, home: AttributeFolder | None, config: DedupeConfig, options: Mapping[str, str]
) -> int:
    """Reads one file, and writes its attributes if it has a home. Returns its documents."""
    read = ForeignFile(open_store(file.root, options, foreign=True).stream(file.path, file.version), file.url)
    if home is None:
        _compare_marks(marker, read, None)
        return read.rows
    store = open_output_folder(home.root, options)
    record = FileRecord(file.url, file.version, home.recipe_of_file(file.name))
    upload = RecordedUpload(store, file.name, record, config.packing, foreign=file.name in home.foreign)
    with undone_at_failure(upload.abort):
        _compare_marks(marker, read, upload)
        upload.publish(read.sha256)
    return read.rows


def _compare_marks(marker: Marker, read: ForeignFile, upload: PackedUpload | None) -> None:
    first = 0
    for block in read.blocks():
        for row in marker.rows(block, read.path, first):
            if upload is not None:
                upload.write(row)
            first += 1
