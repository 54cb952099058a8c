"""One run of `dolma mix`: finds the files, leaves out what is done, mixes the others, and writes the manifests."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gristmill.dolma.formats.mixer_config import MixerConfig, StreamSpec
from gristmill.dolma.mixing.grinder import MixItem
from gristmill.dolma.mixing.mixed_files import MixedFile, mixed_files
from gristmill.dolma.mixing.stream_mixer import StreamMixer
from gristmill.dolma.tagging.attribute_folder import AttributeFolder
from gristmill.dolma.tagging.file_run import FilePlan, grind_missing_files
from gristmill.dolma.tagging.inputs import Inputs
from gristmill.dolma.tagging.records import open_output_folder, remove_receipts
from gristmill.errors import DataError, RecipeError
from gristmill.execution.work import Engine, Item, Say, encode_raw

MADE_BY = "gristmill dolma mix"


@dataclass(frozen=True, kw_only=True)
class MixPlan(FilePlan):
    """What is to be done.

    Attributes:
        outputs: number of files that each stream gives, by stream.
        recipes: the streams by their digests.
    """

    outputs: Mapping[str, int]
    recipes: Mapping[str, StreamSpec]


def plan_mixing(config: MixerConfig, options: Mapping[str, str], *, force: bool = False) -> MixPlan:
    """Finds the files, and what is missing.

    Args:
        config: configuration that says what is mixed.
        options: options of the bucket's client.
        force: whether files that others made are replaced, and records that do not fit are not read.

    Returns:
        The plan: the files to read, and those to write.

    Raises:
        RecipeError: an expression is not read, no file matches, or the outputs were made with other options.
        DataError: a file of attributes is missing, an output is of somebody else, or a manifest was edited.
    """
    for stream in config.streams:
        _check_expressions(stream)
    missed: list[str] = []
    roots: dict[str, list[tuple[StreamSpec, MixedFile]]] = {}
    outputs: dict[str, int] = {}
    for stream in config.streams:
        files, patterns = mixed_files(stream, options, gather=config.shuffle)
        missed += patterns
        outputs[stream.name] = len(files)
        for file in files:
            roots.setdefault(file.root, []).append((stream, file))
    inputs = _safe_inputs(config, roots)
    folders, items = [], list[Item]()
    for root, made in roots.items():
        folder = _output_folder(root, made, inputs, options, force=force)
        folders.append(folder)
        items += [
            Item(
                f"{root}/{file.name}",
                file.size,
                encode_raw(MixItem(file, stream, stream.digest, file.name in folder.foreign)),
            )
            for stream, file in made
            if file.name not in folder.done
        ]
    recipes = {stream.digest: stream for stream in config.streams}
    return MixPlan(folders=folders, missed=missed, items=items, outputs=outputs, recipes=recipes)


def _check_expressions(stream: StreamSpec) -> None:
    try:
        StreamMixer(stream)
    except RecipeError as error:
        raise RecipeError(f"stream {stream.name!r}: {error}") from error


def _safe_inputs(config: MixerConfig, roots: Mapping[str, Sequence[tuple[StreamSpec, MixedFile]]]) -> Inputs:
    """What all streams read, once it is clear that no output is among it."""
    places: dict[tuple[str, str], MixedFile] = {}
    for root, made in roots.items():
        for _, file in made:
            if (root, file.name) in places:
                raise RecipeError(f"{root}/{file.name}: two streams write it; give them other outputs")
            places[root, file.name] = file
    files = (f for file in places.values() for each in file.inputs for f in (each.documents, *each.attributes))
    inputs = Inputs(files, (pattern for stream in config.streams for pattern in stream.documents))
    inputs.check_written(places)
    return inputs


def _output_folder(
    root: str,
    made: Sequence[tuple[StreamSpec, MixedFile]],
    inputs: Inputs,
    options: Mapping[str, str],
    *,
    force: bool,
) -> AttributeFolder:
    """The outputs below one folder."""
    recipes = {file.name: stream.digest for stream, file in made}
    streams = {stream.name: stream.digest for stream, _ in made}
    kin = "|".join(sorted({file.kin for _, file in made}))
    files = [file.as_one for _, file in made]
    folder = AttributeFolder(root, MADE_BY, "", streams, "", files, recipes, alone=True, kin=kin)
    return folder.looked_up(options, inputs, force=force)


def run_mixing(
    plan: MixPlan, engine: Engine, options: Mapping[str, str], say: Say, *, strict: bool = False
) -> Mapping[str, int]:
    """Mixes the files that are missing, and writes the manifests.

    Args:
        plan: plan from plan_mixing().
        engine: engine that mixes the files.
        options: options of the bucket's client.
        say: function that takes lines of progress.
        strict: whether it is an error that expressions name attributes that no row has.

    Returns:
        How many `documents` were read, and how many were `kept`.

    Raises:
        GristmillError: files could not be mixed. The others are done, and the next run keeps them.
        DataError: strict, and an expression names an attribute that no row has. The files of this run are removed.
    """

    def check(facts: Mapping[str, int]) -> None:
        absent = absent_attributes(plan, facts) if strict else []
        if absent:
            for folder in plan.folders:
                _remove_earlier_outputs(folder, [item.name for item in plan.items], options)
            raise DataError(
                f"{'; '.join(absent)}. The files of this run are removed. Mend the name, or leave out --strict"
            )

    return grind_missing_files(plan, "dolma_mixing", engine, options, say, check)


def absent_attributes(plan: MixPlan, facts: Mapping[str, int]) -> list[str]:
    """The attributes that expressions name and no row of a stream has: in words, sorted by stream.

    A stream with files of which version 0.2 recorded no rows is left out: rows of these may have them.

    Args:
        plan: plan of the run.
        facts: counts that run_mixing() returned.
    """
    absent: list[str] = []
    for recipe, stream in plan.recipes.items():
        earlier = [each for folder in plan.folders for each in folder.done.values() if each.recipe == recipe]
        if any(each.rows and not each.read for each in earlier):
            continue
        rows, prefix = facts.get(f"read {recipe}", 0) + sum(each.read for each in earlier), f"unseen {recipe} "
        without = Counter({key.removeprefix(prefix): n for key, n in facts.items() if key.startswith(prefix)})
        for each in earlier:
            without.update(dict.fromkeys(each.unseen, each.read))
        absent += [
            f"stream {stream.name!r}: no row of {rows:,} has the attribute {name!r}, so what names it changes nothing"
            for name, number in sorted(without.items())
            if rows and number == rows
        ]
    return absent


def _remove_earlier_outputs(folder: AttributeFolder, made: Sequence[str], options: Mapping[str, str]) -> None:
    """Removes the files of this run below a folder, and their receipts."""
    names = [file.name for file in folder.files if f"{folder.root}/{file.name}" in made]
    store = open_output_folder(folder.root, options)
    store.delete(names)
    remove_receipts(store, names)
