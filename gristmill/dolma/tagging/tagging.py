"""One run of `dolma tag`: finds the files, leaves out what is done, tags the others, and writes the manifests."""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import structs

from gristmill.dolma.tagging.attribute_folder import AttributeFolder
from gristmill.dolma.tagging.catalogue import digest_of_tagger, label_makers
from gristmill.dolma.tagging.config import TagConfig, label_key_from_name
from gristmill.dolma.tagging.file_run import FilePlan, grind_missing_files
from gristmill.dolma.tagging.grinder import OutputSpec, TagItem
from gristmill.dolma.tagging.inputs import Inputs
from gristmill.dolma.tagging.paths import TaggedFile, output_folder_of_pattern, resolve_output_links, tagged_files
from gristmill.execution.work import Engine, Item, Say, encode_raw
from gristmill.lake.identity import digest_of

MADE_BY = "gristmill dolma tag"


def plan_tagging(config: TagConfig, options: Mapping[str, str], *, force: bool = False) -> FilePlan:
    """Finds the files, and what is missing.

    Args:
        config: configuration that says what is tagged.
        options: options of the bucket's client.
        force: whether files that others made are replaced, and records that do not fit are not read.

    Returns:
        The plan: the files to read, and those to write.

    Raises:
        RecipeError: a tagger is not known, no file matches, or the attributes were made by other taggers.
        DataError: a file of attributes is of somebody else, or a manifest was edited.
    """
    label_makers(config.taggers)
    groups = _group_by_folder(config, options)
    folders: list[AttributeFolder] = []
    lacking: dict[TaggedFile, list[OutputSpec]] = {}
    for root, taggers, files in groups.outputs:
        digests = {name: digest_of_tagger(name) for name, _ in taggers}
        spec = OutputSpec(root, taggers, digest_of([taggers, digests]))
        folder = AttributeFolder(root, MADE_BY, config.experiment or "", digests, spec.recipe, files).looked_up(
            options, groups.inputs, force=force, again=config.ignore_existing
        )
        folders.append(folder)
        for file in folder.files:
            if file.name not in folder.done:
                foreign = file.name in folder.foreign
                lacking.setdefault(file, []).append(structs.replace(spec, foreign=foreign))
    items = [
        Item(file.url, file.version.size, encode_raw(TagItem(file, tuple(specs))))
        for file, specs in sorted(lacking.items(), key=lambda pair: pair[0].url)
    ]
    return FilePlan(folders=folders, items=items, missed=groups.missed)


@dataclass(frozen=True)
class _Groups:
    outputs: list[tuple[str, tuple[tuple[str, str], ...], list[TaggedFile]]]
    missed: list[str]
    inputs: Inputs


def _group_by_folder(config: TagConfig, options: Mapping[str, str]) -> _Groups:
    """The files by the folder of their attributes. Without an experiment each tagger has a folder of its own."""
    placeholder = "\1"
    folder = f"attributes/{placeholder if config.experiment is None else config.experiment}"
    roots = config.destination or [output_folder_of_pattern(pattern, folder) for pattern in config.documents]
    files, missed = tagged_files(config.documents, [resolve_output_links(root.rstrip("/")) for root in roots], options)
    grouped: dict[str, dict[str, tuple[str, str]]] = {}
    members: dict[str, dict[str, TaggedFile]] = {}
    for file in files:
        for name in config.taggers:
            root = resolve_output_links(file.output.replace(placeholder, label_key_from_name(name)))
            experiment = label_key_from_name(name if config.experiment is None else config.experiment)
            grouped.setdefault(root, {})[name] = (name, experiment)
            members.setdefault(root, {})[file.name] = file
    inputs = Inputs(files, config.documents)
    inputs.check_written((root, name) for root, named in members.items() for name in named)
    return _Groups(
        [(root, tuple(taggers.values()), list(members[root].values())) for root, taggers in grouped.items()],
        missed,
        inputs,
    )


def run_tagging(plan: FilePlan, engine: Engine, options: Mapping[str, str], say: Say) -> int:
    """Tags the files that are missing, and writes the manifests.

    Args:
        plan: plan from plan_tagging().
        engine: engine that tags the files.
        options: options of the bucket's client.
        say: function that takes lines of progress.

    Returns:
        How many documents were tagged.

    Raises:
        GristmillError: files could not be tagged. The others are done, and the next run keeps them.
    """
    return grind_missing_files(plan, "dolma_tagging", engine, options, say).get("documents", 0)
