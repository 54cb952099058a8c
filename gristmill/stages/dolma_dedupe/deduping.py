"""One run of `dolma dedupe`: finds the files, leaves out what is done, and marks the others in one process.

A mark depends on all files before. So the recipe of each file of attributes has a digest of the documents up to it, and
a run that writes one file reads those before it. Files behind the last one that is missing are not read.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gristmill.errors import RecipeError
from gristmill.execution.work import ProgressLine, Say
from gristmill.lake.rows.foreign_file import ForeignFile
from gristmill.lake.store.open import open_store
from gristmill.stages.dolma_dedupe.config import DedupeConfig
from gristmill.stages.dolma_dedupe.files import compared_files
from gristmill.stages.dolma_dedupe.marking import Marker
from gristmill.stages.dolma_tagging.attribute_folder import AttributeFolder
from gristmill.stages.dolma_tagging.packing import PackedUpload
from gristmill.stages.dolma_tagging.paths import TaggedFile, real
from gristmill.stages.dolma_tagging.records import FileRecord, leave_record, open_outputs

MADE_BY = "gristmill dolma dedupe"
_TAGGER = "dedupe"


@dataclass(frozen=True)
class DedupePlan:
    """What is to be done.

    Attributes:
        outputs: the folders of attributes.
        files: the files to read, in the order of comparison. Behind them nothing is missing.
        missing: those of them whose attributes are missing.
        done: how many files of attributes are done already.
        missed: patterns that match no file.
    """

    outputs: Sequence[AttributeFolder]
    files: Sequence[TaggedFile]
    missing: frozenset[TaggedFile]
    done: int
    missed: Sequence[str]


def plan_dedupe(config: DedupeConfig, options: Mapping[str, str], *, force: bool = False) -> DedupePlan:
    """Finds the files, and what is missing.

    Args:
        config: what is compared.
        options: of the bucket's client.
        force: whether files that others made are replaced, and records that do not fit are not read.

    Raises:
        RecipeError: there is a saved Bloom filter, no file matches, or the attributes were made with other options.
        DataError: a file of attributes is of somebody else, or a manifest was edited.
    """
    _check_no_filter(config.bloom_file, options)
    files, missed = compared_files(config, options)
    chain = hashlib.sha256()
    folders: dict[str, dict[str, tuple[TaggedFile, str]]] = {}
    for file in files:
        chain.update(msgspec.json.encode([file.url, file.version.size, file.version.etag]))
        folders.setdefault(real(file.output), {})[file.name] = file, chain.hexdigest()[:16]
    outputs = [_looked_up(root, named, config, options, force=force) for root, named in folders.items()]
    done = {file for output in outputs for file in output.files if file.name in output.done}
    places = [number for number, file in enumerate(files) if file not in done]
    read = files[: places[-1] + 1] if places else []
    return DedupePlan(outputs, read, frozenset(files) - done, len(done), missed)


def _looked_up(
    root: str,
    named: Mapping[str, tuple[TaggedFile, str]],
    config: DedupeConfig,
    options: Mapping[str, str],
    *,
    force: bool,
) -> AttributeFolder:
    files = [file for file, _ in named.values()]
    recipes = {name: recipe for name, (_, recipe) in named.items()}
    taggers = {_TAGGER: config.digest}
    folder = AttributeFolder(root, MADE_BY, config.name, taggers, config.digest, files, recipes)
    return folder.looked_up(options, force=force)


def _check_no_filter(path: str, options: Mapping[str, str]) -> None:
    if path.startswith("s3://"):
        folder, _, name = path.rpartition("/")
        found = open_store(folder, options).head(name) is not None
    else:
        found = bool(path) and Path(path).exists()
    if found:
        raise RecipeError(
            f"bloom_filter.file: {path} is a saved Bloom filter, which is not read here. Give the documents that filled"
            " it as the first entries of `documents`, and remove the entry or the file; or make a Dedupe of their"
            " sources in a lake, which keeps all fingerprints (docs/how-to/dolma-dedupe.md)"
        )


def run_dedupe(plan: DedupePlan, config: DedupeConfig, options: Mapping[str, str], say: Say) -> int:
    """Writes the files that are missing, and the manifests.

    Args:
        plan: of plan_dedupe().
        config: of the plan.
        options: of the bucket's client.
        say: takes lines of progress.

    Returns:
        How many documents were read.

    Raises:
        DataError: a file cannot be read. The files before it are done, and the next run keeps them.
        StoreError: a store does not answer.
    """
    for output in plan.outputs:
        output.begin(options)
    marker = Marker(config)
    homes = {file: output for output in plan.outputs for file in output.files}
    documents = 0
    for number, file in enumerate(plan.files):
        documents += _marked(marker, file, homes[file] if file in plan.missing else None, config, options)
        say(ProgressLine(f"{number + 1:,} of {len(plan.files):,} files, {marker.distinct:,} different keys"))
    for output in plan.outputs:
        output.conclude(options)
    return documents


def _marked(
    marker: Marker, file: TaggedFile, home: AttributeFolder | None, config: DedupeConfig, options: Mapping[str, str]
) -> int:
    """Reads one file, and writes its attributes if it has a home. Returns its documents."""
    read = ForeignFile(open_store(file.root, options).stream(file.path, file.version), file.url)
    if home is None:
        _compare(marker, read, None)
        return read.rows
    store = open_outputs(home.root, options)
    begun = FileRecord(file.url, file.version, home.recipe_of(file.name))
    leave_record(store, file.name, begun)
    upload = PackedUpload(store, file.name, config.packing)
    try:
        _compare(marker, read, upload)
        version = upload.close()
    except BaseException:
        upload.abort()
        raise
    ended = {"input_sha256": read.sha256, "rows": upload.rows, "sha256": upload.sha256, "output": version}
    leave_record(store, file.name, msgspec.structs.replace(begun, **ended))
    return read.rows


def _compare(marker: Marker, read: ForeignFile, upload: PackedUpload | None) -> None:
    first = 0
    for block in read.blocks():
        for row in marker.rows(block, read.path, first):
            if upload is not None:
                upload.write(row)
            first += 1
