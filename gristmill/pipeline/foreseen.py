"""What recipes alone show: which assets cannot be made, whatever the data are. It is told before anything is ground."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from gristmill.errors import DataError, GristmillError, RecipeError
from gristmill.extras import Needs, why_missing
from gristmill.lake.address import attributes_asset, documents_asset, export_asset, export_index, mix_asset
from gristmill.lake.rows.blocklists.blocklist import read_blocklist
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.roots import raw_address
from gristmill.recipes.adopted.dataset import adopted_folder
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.export import Export
from gristmill.recipes.export_formats.formats import codec_of_format
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Chat
from gristmill.recipes.selection import Selection
from gristmill.recipes.source import Source
from gristmill.stages.export.epoch import check_epoch
from gristmill.stages.fingerprints.order import dedupe_order_path
from gristmill.stages.mixing.blocklist_matches import named_lists
from gristmill.stages.models.ledger import model_address
from gristmill.stages.token_cache.step import TokenCacheStep

Refused = tuple[str, str]
"""The address of an asset, and why it cannot be made."""


def foreseen_refusals(store: Store, catalogue: Catalogue) -> dict[str, str]:
    """The reasons why assets cannot be made, by their addresses. Reads blocklists, and asks for the other files that
    recipes name.

    Args:
        store: the lake.
        catalogue: the recipes.

    Raises:
        StoreError: the lake does not answer.
    """
    lists = dict(_refused_lists(store, catalogue))
    found = [
        *_refused_sources(catalogue, lists),
        *_refused_mixes(store, catalogue, lists),
        *_refused_exports(store, catalogue),
    ]
    return dict([*found, *refused_without_packages(catalogue)])


def refused_without_packages(catalogue: Catalogue) -> Iterator[Refused]:
    """What cannot be made because a package is not installed here. Asks the lake nothing.

    Args:
        catalogue: the recipes.

    Yields:
        The address of an asset, and the line that names the package and the command for it.
    """
    for source in catalogue.sources.values():
        yield from _refused_by_check(documents_asset(source.name, "v0"), source.reader.check)
        for version in source.versions:
            for tagger in catalogue.taggers_of_version(source, version):
                yield from _missing_extra(attributes_asset(source.name, version, tagger.name), tagger.needs)
    for mix in catalogue.mixes.values():
        for export in catalogue.exports_of_mix(mix):
            for address in _export_slice_addresses(mix, export):
                yield from _missing_extra(address, export.format.needs)
    for model in catalogue.models.values():
        yield from _missing_extra(model_address(model), model.needs)


def suggested_first_rules(store: Store, catalogue: Catalogue) -> Iterator[str]:
    """The lines that tell what to write into dedupe recipes that are not resolved yet, and have a first rule because
    they name none.

    Args:
        store: the lake.
        catalogue: the recipes.

    Raises:
        StoreError: the lake does not answer.
    """
    for name, dedupe in catalogue.dedupes.items():
        if dedupe.unit.first_rules and store.head(dedupe_order_path(name)) is None:
            unit, better = type(dedupe.unit).__name__, ", ".join(f"{each}=2" for each in dedupe.unit.first_rules)
            yield f"dedupe {name}: write {unit}({better}) before it is made; the first rule is kept for finished sets"


def _refused_lists(store: Store, catalogue: Catalogue) -> Iterator[Refused]:
    """The names of the blocklists that are missing or have lost entries, each with the reason."""
    for name in named_lists(catalogue):
        with suppress(DataError):  # a wrong row: planning the slice tells of it
            yield from _refused_by_check(name, partial(read_blocklist, store, name))


def _refused_sources(catalogue: Catalogue, lists: Mapping[str, str]) -> Iterator[Refused]:
    for source in catalogue.sources.values():
        for revision in source.revisions:
            yield from _refused_without_blocklist(documents_asset(source.name, revision.version), revision, lists)
        for version in source.versions:
            for name in (each.name for each in source.adopted_sets(version)):
                yield from _refused_by_check(
                    attributes_asset(source.name, version, name), partial(_check_adopted_root, source, version, name)
                )


def _check_adopted_root(source: Source, version: str, name: str) -> None:
    """Raises RecipeError if the root of an adopted set is a folder that is not there."""
    folder = adopted_folder(source, version, name)
    root = raw_address(replace(folder.files, raw=folder.root))
    if root.startswith("/") and not Path(root).is_dir():
        raise RecipeError(f"{root}: the root of set {name!r} is not there: mount its disk, or correct root")


def _refused_mixes(store: Store, catalogue: Catalogue, lists: Mapping[str, str]) -> Iterator[Refused]:
    for mix, stream in catalogue.streams():
        yield from _refused_without_blocklist(mix_asset(mix.name, stream.key), stream, lists)
        for tokenizer in catalogue.tokenizers_of_mix(mix):
            step = TokenCacheStep(mix, stream.key, tokenizer, "", ())
            own = tokenizer.training is not None and not tokenizer.chat_template
            if isinstance(stream.format, Chat) and (stream.format.chat_template or own or tokenizer.specials == "text"):
                yield from _refused_by_check(step.asset, partial(step.chat_template_text, store))


def _refused_exports(store: Store, catalogue: Catalogue) -> Iterator[Refused]:
    for mix in catalogue.mixes.values():
        for export in catalogue.exports_of_mix(mix):
            for index, why in _refused_by_check(export_index(mix.name, export.name), partial(check_epoch, mix, export)):
                yield from ((address, why) for address in (index, *_export_slice_addresses(mix, export)))
            wrong = _format_problem(store, export)
            if wrong:
                yield from ((address, wrong) for address in _export_slice_addresses(mix, export))


def _format_problem(store: Store, export: Export) -> str:
    """What an export's format lacks, such as the folder of its media; empty if nothing."""
    try:
        codec_of_format(export.format).check(store)
    except GristmillError as error:
        return str(error)
    return ""


def _export_slice_addresses(mix: Mix, export: Export) -> list[str]:
    return [export_asset(mix.name, export.name, stream.key) for stream in mix.streams]


def _refused_without_blocklist(address: str, selection: Selection, lists: Mapping[str, str]) -> Iterator[Refused]:
    yield from ((address, lists[name]) for name in selection.blocklists if name in lists)


def _missing_extra(address: str, needed: Needs) -> Iterator[Refused]:
    if why := why_missing(needed):
        yield address, why


def _refused_by_check(address: str, check: Callable[[], object]) -> Iterator[Refused]:
    try:
        check()
    except RecipeError as error:
        yield address, str(error).removeprefix(address).lstrip(": ")
