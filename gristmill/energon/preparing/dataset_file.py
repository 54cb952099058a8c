"""Compares a `dataset.yaml` with what energon takes, and its field map with the parts of the samples.

The rules are those of NVIDIA/Megatron-Energon 7.4.1. A class of one's own is never imported; only its name is read.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from gristmill.energon.formats.dataset_yaml import ENERGON
from gristmill.energon.formats.field_map import PlaceInSample, look_up_field, parse_places
from gristmill.energon.formats.sample_types import CRUDE, SAMPLE_TYPES, SampleType
from gristmill.energon.preparing.flaw import Flaw, flaw_from_error, has_errors
from gristmill.energon.preparing.shards import WalkedShard, open_walk
from gristmill.errors import DataError, RecipeError, known_names
from gristmill.formats.yaml_text import read_yaml
from gristmill.lake.store.protocol import Store

_STANDARD: Final = "StandardWebdatasetFactory"
_LOADERS: Final = {name.removesuffix("Sample") + "Webdataset": kind for name, kind in SAMPLE_TYPES.items()}
"""Classes of older releases, each for one type of samples. The loader still takes them."""
_OWN_FIELDS: Final = frozenset(("__key__", "__restore_key__", "__subflavors__", "__sources__"))
"""Fields that every sample has. The loader fills them, but a field map may do so too."""
_KEYS: Final = frozenset(
    (
        *("__module__", "__class__", "sample_type", "field_map", "sample_loader", "part_filter", "subflavors"),
        *("decoder", "split_part", "split_config", "training", "worker_config", "subset", "path"),
        *("shuffle_over_epochs", "parallel_shard_iters", "max_samples_per_sequence"),
    )
)
"""What a `dataset.yaml` with a class of energon's may say."""
_AS_CRUDE: Final = "for crude samples write __module__: megatron.energon and __class__: CrudeWebdataset"
_MAP: Final = "write such as field_map: {text: txt}"

Places = Mapping[str, tuple[str, ...]]
"""For each field the names of the parts that it is read from, in the order in which they are tried."""


class DatasetFile(NamedTuple):
    """What was read of a `dataset.yaml`.

    Attributes:
        flaws: flaws in it.
        places: parts from which each field is read, from the field map; empty without one.
        inner: the fields that are read from inside of JSON, such as `json[caption]`, each with all its places.
    """

    flaws: list[Flaw]
    places: Places
    inner: Mapping[str, tuple[PlaceInSample, ...]]


def read_dataset_file(data: bytes, path: str) -> DatasetFile:
    """Checks a `dataset.yaml`.

    Args:
        data: content of the file.
        path: path of the file, for messages.

    Returns:
        The content of the file, and its flaws.

    >>> typed = "{sample_type: {__module__: megatron.energon, __class__: TextSample}, field_map: {text: txt}}"
    >>> read_dataset_file(typed.encode(), "dataset.yaml")
    DatasetFile(flaws=[], places={'text': ('txt',)}, inner={})
    """
    try:
        value = read_yaml(data, path)
    except DataError as error:
        return DatasetFile([flaw_from_error(error, path)], {}, {})
    flaws = [flaw._replace(path=path) for flaw in _dataset_file_flaws(value)]
    fields = _field_places(value)
    places = {field: tuple(dict.fromkeys(place.part for place in each)) for field, each in fields.items()}
    return DatasetFile(flaws, places, {field: each for field, each in fields.items() if _is_inner(each)})


def part_flaws(path: str, places: Places, shards: Sequence[WalkedShard]) -> Iterator[Flaw]:
    """The flaws of fields whose part no sample has, or some lack. The loader drops such samples, and logs each.

    Args:
        path: path of the `dataset.yaml`.
        places: parts from which each field is read, from `read_dataset_file`.
        shards: walked over with these places.
    """
    total = sum(shard.samples for shard in shards)
    for number, (field, parts) in enumerate(places.items()):
        lacking = sum(shard.lacking[number].samples for shard in shards if shard.lacking)
        if not lacking:
            continue
        wanted = f"{field!r} is read from {' or '.join(map(repr, parts))}"
        if lacking == total:
            names = ", ".join(dict.fromkeys(name for shard in shards for name in list(shard.parts)[:10]))
            yield Flaw(path, f"{wanted}, which no sample has: the loader drops them all", f"the parts are: {names}")
            continue
        shard = next(shard for shard in shards if shard.lacking and shard.lacking[number].samples)
        what = f"{wanted}, which {lacking:,} of {total:,} samples lack: the loader drops them"
        first = f"the first is {shard.lacking[number].first!r} in {shard.shard}"
        yield Flaw(path, what, first, warning=True)


def first_sample_flaws(store: Store, typed: DatasetFile, path: str, shards: Sequence[WalkedShard]) -> Iterator[Flaw]:
    """The flaws of fields that are read from inside of JSON, and that the first sample does not have there.

    The content of other samples is not read. The loader drops each sample without the value, and logs it.

    Args:
        store: store of the dataset.
        typed: file that was read, from `read_dataset_file`.
        path: path of the `dataset.yaml`.
        shards: shards of the dataset.
    """
    entry = store.head(shards[0].shard) if typed.inner and shards and not has_errors(shards[0].flaws) else None
    batch = next(iter(open_walk(store, entry)), None) if entry else None
    if entry is None or batch is None:
        return
    sample: dict[str, object] = {}
    where = f"the first sample, {batch.keys[0]!r} in {entry.path}"
    for number, name, offset, size in batch.part_rows():
        if number == batch.first:
            data = store.read_range(entry.path, offset, offset + size) if size and _is_json(name) else b"null"
            try:
                sample[name] = json.loads(data)
            except (ValueError, RecursionError) as error:
                yield Flaw(path, f"{where}, has a part {name!r} that is not JSON: {error}", "repair it", warning=True)
    for field, places in typed.inner.items():
        try:
            look_up_field(sample, places)
        except DataError:
            there = [place.part for place in places if place.part in sample]
            keys = dict.fromkeys(key for part in there if isinstance(each := sample[part], dict) for key in each)
            what = f"{field!r} is read from {','.join(place.text() for place in places)}, which {where}, does not have"
            if there:  # part_flaws tells of the others
                yield Flaw(path, what, f"its keys are: {', '.join([*keys][:10])}", warning=True)


def _dataset_file_flaws(value: Mapping[str, Any]) -> Iterator[Flaw]:
    """All flaws, still without the path of the file."""
    own = "__module__" in value and "__class__" in value
    named = value if own else value.get("sample_type", value)
    if not isinstance(named, dict) or not isinstance(named.get("__class__"), str):
        yield Flaw("", "it names neither a `sample_type` nor a class", _AS_CRUDE)
        return
    if not isinstance(named.get("__module__"), str):
        what = f"class {named['__class__']!r} has no __module__, and the loader needs it"
        yield Flaw("", what, f"energon's own classes are in {ENERGON}")
        return
    for name in ("sample_loader", "part_filter"):
        if isinstance(value.get(name), str):
            what = f"its {name} is {value[name]!r}: code that the loader runs, and that was not run here"
            yield Flaw("", what, "read that file; better: crude samples and a cooker", warning=True)
    if own and not _is_energon_class(named):
        return
    yield from (Flaw("", f"the loader takes no {key!r}", "remove it") for key in value if key not in _KEYS)
    yield from _typed_dataset_flaws(value) if not own else _class_flaws(value, named["__class__"])


def _class_flaws(value: Mapping[str, Any], name: str) -> Iterator[Flaw]:
    """The flaws of a file that names one of energon's classes that load datasets."""
    if name == CRUDE:
        for key in ("sample_type", "field_map", "sample_loader"):
            if key in value:
                yield Flaw(
                    "", f"crude samples take no {key}", "remove it, or name a `sample_type` in place of the class"
                )
    elif name == _STANDARD:
        yield from _typed_dataset_flaws(value)
    elif name in _LOADERS:
        yield from _field_map_flaws(value, _LOADERS[name])
    else:
        what = f"energon has no class {name!r} that loads a dataset"
        yield Flaw("", what, known_names(name, (CRUDE, *_LOADERS)))


def _typed_dataset_flaws(value: Mapping[str, Any]) -> Iterator[Flaw]:
    named = value.get("sample_type")
    if not isinstance(named, dict) or not all(isinstance(named.get(key), str) for key in ("__module__", "__class__")):
        yield Flaw("", "it names no `sample_type` with __module__ and __class__", _AS_CRUDE)
        return
    yield from _sample_class_flaws(named["__module__"], named["__class__"])
    yield from _field_map_flaws(value, SAMPLE_TYPES.get(named["__class__"]) if _is_energon_class(named) else None)


def _is_energon_class(named: Mapping[str, str]) -> bool:
    return f"{named['__module__']}.".startswith("megatron.")


def _sample_class_flaws(module: str, name: str) -> Iterator[Flaw]:
    """Whether the class of samples is where the file says; a class outside of energon may be anywhere."""
    if not _is_energon_class({"__module__": module}) or name == "Sample":
        return
    kind = SAMPLE_TYPES.get(name)
    if kind is None:
        yield Flaw("", f"energon has no sample type {name!r}", known_names(name, SAMPLE_TYPES))
    elif module not in kind.modules:
        what = f"{name} is not in {module}"
        yield Flaw("", what, f"write __module__: {kind.module}", warning=module not in _sample_class_modules())


def _sample_class_modules() -> set[str]:
    """Where energon has classes of samples. In place of a module that it does not have, it looks in its own."""
    return {module for kind in SAMPLE_TYPES.values() for module in kind.modules}


def _field_map_flaws(value: Mapping[str, Any], kind: SampleType | None) -> Iterator[Flaw]:
    """Exactly one of a field map and a sample loader makes the samples."""
    fields, loader, parts = (value.get(name) for name in ("field_map", "sample_loader", "part_filter"))
    if fields is not None and loader is not None:
        yield Flaw("", "it has both a field_map and a sample_loader", "leave one of them")
    elif loader is not None and parts is None:
        yield Flaw("", "a sample_loader needs a part_filter", "name the parts: part_filter: [jpg, txt]")
    elif fields is not None and parts is not None:
        yield Flaw("", "a field_map takes no part_filter, for it names the parts itself", "remove the part_filter")
    elif fields is None and loader is None:
        yield Flaw("", "it has neither a field_map nor a sample_loader", _MAP)
    elif fields is not None:
        yield from _field_flaws(fields, kind)


def _field_flaws(fields: object, kind: SampleType | None) -> Iterator[Flaw]:
    if not isinstance(fields, dict) or not all(isinstance(text, str) for text in fields.values()):
        yield Flaw("", "its field_map does not map each field to a text", _MAP)
        return
    for field, text in fields.items():
        try:
            parse_places(text)
        except RecipeError as error:
            yield Flaw("", f"field {field!r}: {error}")
    if kind is None:
        return
    known = [field.name for field in kind.fields]
    for field in fields:
        if field not in known and field not in _OWN_FIELDS:
            yield Flaw("", f"{kind.name} has no field {field!r}", known_names(str(field), known))
    missing = ", ".join(name for name in kind.required_field_names if name not in fields)
    if missing:
        what = f"its field_map has no {missing}, which every {kind.name} needs: the loader drops all samples"
        yield Flaw("", what, "name the part of it")


def _field_places(value: Mapping[str, Any]) -> dict[str, tuple[PlaceInSample, ...]]:
    """The places of each field; a class of one's own may read its field map in another way."""
    own = "__class__" in value and not str(value.get("__module__")).startswith("megatron.")
    fields = value.get("field_map")
    if own or not isinstance(fields, dict):
        return {}
    places: dict[str, tuple[PlaceInSample, ...]] = {}
    for field, text in fields.items():
        try:
            places[str(field)] = parse_places(str(text))
        except RecipeError:
            continue  # a flaw names it
    return places


def _is_inner(places: Sequence[PlaceInSample]) -> bool:
    """Whether a field is read from inside of JSON, and from nothing else that is not known from the names of parts."""
    inner = [place for place in places if place.steps]
    return bool(inner) and all(_is_json(place.part) for place in inner)


def _is_json(part: str) -> bool:
    return part.rpartition(".")[2] in {"json", "jsn"}
