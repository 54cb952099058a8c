"""One run of `dolma tag`: finds the files, leaves out what is done, tags the others, and writes the manifests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from gristmill.errors import DataError, RecipeError
from gristmill.execution.runner import grind_all, raise_failures
from gristmill.execution.work import Engine, Item, Job, Say, raw
from gristmill.lake.identity import digest_of
from gristmill.lake.store.open import Lake, open_store
from gristmill.lake.store.protocol import Entry, NoFolder, Store
from gristmill.stages.dolma_tagging.catalogue import digest_of_tagger, looks
from gristmill.stages.dolma_tagging.config import TagConfig, variable_name
from gristmill.stages.dolma_tagging.grinder import OutputSpec, TagItem
from gristmill.stages.dolma_tagging.paths import TaggedFile, check_apart, output_of, real, tagged_files
from gristmill.stages.dolma_tagging.records import FileRecord, TagManifest, read_manifest, receipts, write_manifest

MADE_BY = "gristmill dolma tag"
_SHOWN = 5


@dataclass(frozen=True)
class _AttributeFolder:
    """Attributes below one folder: what they are, which files they have, and which of these are done."""

    spec: OutputSpec
    experiment: str
    taggers: dict[str, str]
    files: list[TaggedFile]
    done: dict[str, FileRecord]


@dataclass(frozen=True)
class TagPlan:
    """What is to be done.

    Attributes:
        outputs: the folders of attributes.
        items: the files that are missing.
        done: how many files of attributes are done already.
        missed: patterns that match no file.
    """

    outputs: Sequence[_AttributeFolder]
    items: Sequence[Item]
    done: int
    missed: Sequence[str]


def plan_tagging(config: TagConfig, options: Mapping[str, str], *, force: bool = False) -> TagPlan:
    """Finds the files, and what is missing.

    Args:
        config: what is tagged.
        options: of the bucket's client.
        force: whether files that others made are replaced, and records that do not fit are not read.

    Raises:
        RecipeError: a tagger is not known, no file matches, or the attributes were made by other taggers.
        DataError: a file of attributes is of somebody else, or a manifest was edited.
    """
    looks(config.taggers)
    groups = _groups(config, options)
    outputs = [_planned(root, taggers, files, options, config, force=force) for root, taggers, files in groups.outputs]
    lacking: dict[TaggedFile, list[OutputSpec]] = {}
    for output in outputs:
        for file in output.files:
            if file.name not in output.done:
                lacking.setdefault(file, []).append(output.spec)
    items = [
        Item(file.url, file.version.size, raw(TagItem(file, tuple(specs))))
        for file, specs in sorted(lacking.items(), key=lambda pair: pair[0].url)
    ]
    return TagPlan(outputs, items, sum(len(output.done) for output in outputs), groups.missed)


@dataclass(frozen=True)
class _Groups:
    outputs: list[tuple[str, tuple[tuple[str, str], ...], list[TaggedFile]]]
    missed: list[str]


def _groups(config: TagConfig, options: Mapping[str, str]) -> _Groups:
    """The files by the folder of their attributes. Without an experiment each tagger has a folder of its own."""
    placeholder = "\1"
    folder = f"attributes/{placeholder if config.experiment is None else config.experiment}"
    roots = config.destination or [output_of(pattern, folder) for pattern in config.documents]
    files, missed = tagged_files(config.documents, [real(root.rstrip("/")) for root in roots], options)
    grouped: dict[str, dict[str, tuple[str, str]]] = {}
    members: dict[str, dict[str, TaggedFile]] = {}
    for file in files:
        for name in config.taggers:
            root = real(file.output.replace(placeholder, variable_name(name)))
            experiment = variable_name(name if config.experiment is None else config.experiment)
            grouped.setdefault(root, {})[name] = (name, experiment)
            members.setdefault(root, {})[file.name] = file
    check_apart(files, [(root, name) for root, named in members.items() for name in named])
    return _Groups(
        [(root, tuple(taggers.values()), list(members[root].values())) for root, taggers in grouped.items()], missed
    )


def _planned(
    root: str,
    taggers: tuple[tuple[str, str], ...],
    files: list[TaggedFile],
    options: Mapping[str, str],
    config: TagConfig,
    *,
    force: bool,
) -> _AttributeFolder:
    digests = {name: digest_of_tagger(name) for name, _ in taggers}
    spec = OutputSpec(root, taggers, digest_of([taggers, digests]))
    experiment = config.experiment or ""
    output = _AttributeFolder(spec, experiment, digests, files, {})
    store = open_store(root, options)
    records = {} if force else _records(store, output)
    foreign: list[str] = []
    for file in files:
        entry = _head(store, file.name)
        record = records.get(file.name)
        if entry is None:
            continue
        if record is None or not _is_ours(store, file.name, entry, record):
            foreign.append(f"{root}/{file.name}")
        elif record.sha256 and not config.ignore_existing and _same(record, file):
            output.done[file.name] = record
    if foreign and not force:
        more = f" and {len(foreign) - _SHOWN} more" if len(foreign) > _SHOWN else ""
        raise DataError(
            f"not made by this command, or changed since: {', '.join(foreign[:_SHOWN])}{more}; give another experiment,"
            " or replace them with --force"
        )
    return output


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


def _records(store: Store, output: _AttributeFolder) -> dict[str, FileRecord]:
    """The records of the files below an output's folder.

    Raises:
        RecipeError: they were made by other taggers, or under another experiment.
        DataError: the manifest is not one, or was edited.
    """
    try:
        manifest, newer = read_manifest(store), receipts(store)
    except NoFolder:
        return {}
    mend = "give another experiment, or make all again with --force"
    if manifest and (manifest.taggers, manifest.experiment) != (output.taggers, output.experiment):
        before, now = ", ".join(manifest.taggers), ", ".join(output.taggers)
        raise RecipeError(
            f"{store.url}: made with experiment {manifest.experiment!r} and the taggers {before}; now they are"
            f" {output.experiment!r} and {now}; {mend}"
        )
    if any(record.recipe != output.spec.recipe for record in newer.values()):
        raise RecipeError(f"{store.url}: a run with other taggers began these attributes, and did not end; {mend}")
    return {**(manifest.files if manifest else {}), **newer}


def run_tagging(plan: TagPlan, engine: Engine, options: Mapping[str, str], say: Say) -> int:
    """Tags the files that are missing, and writes the manifests.

    Args:
        plan: of plan_tagging().
        engine: where the files are tagged.
        options: of the bucket's client.
        say: takes lines of progress.

    Returns:
        How many documents were tagged.

    Raises:
        GristmillError: files could not be tagged. The others are done, and the next run keeps them.
    """
    job = Job("dolma_tagging", Lake(plan.outputs[0].spec.root, dict(options)), (), raw({}))
    tally = grind_all(engine, job, plan.items, say)
    raise_failures(tally.failed, len(plan.items))
    if plan.items:
        for output in plan.outputs:
            _conclude(open_store(output.spec.root, options), output)
    return tally.facts.get("documents", 0)


def _conclude(store: Store, output: _AttributeFolder) -> None:
    """Writes the manifest of an output: what the one before had, and the receipts of this run."""
    names = {file.name for file in output.files}
    newer = {name: record for name, record in receipts(store).items() if record.sha256}
    kept = {name: record for name, record in _kept(store).items() if name in names or store.head(name)}
    write_manifest(store, TagManifest(MADE_BY, output.experiment, output.taggers, {**kept, **newer}))


def _kept(store: Store) -> Mapping[str, FileRecord]:
    try:
        manifest = read_manifest(store)
    except DataError:  # --force
        return {}
    return manifest.files if manifest else {}
