"""The assets that a changed blocklist affects, as the recipes name them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gristmill.lake.address import attributes_asset, documents_asset, export_asset, export_index, mix_asset
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.export_formats.formats import codec_of_format
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.selection import Selection


@dataclass(frozen=True)
class Selected:
    """An asset whose recipe names blocklists.

    Attributes:
        address: address of the asset.
        source: the source whose snapshots are its partitions.
        reads: addresses of its inputs, the documents first.
        near: addresses of everything made from that source. While one of them is being made, its snapshot waits.
        lists: names of the blocklists.
        pausing: names of which none may be paused.
        exports: slices of exports that are made in the same run, for their formats cannot exclude documents.
        indexes: addresses of the indexes of exports whose formats can.
    """

    address: str
    source: str
    reads: tuple[str, ...]
    near: frozenset[str]
    lists: tuple[str, ...]
    pausing: frozenset[str]
    exports: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()


def selected_assets(catalogue: Catalogue) -> Iterator[Selected]:
    """Every asset whose recipe names a blocklist: versions of sources, and streams of mixes."""
    near: dict[str, set[str]] = {}
    for address, owner in catalogue.partitioned_assets():
        near.setdefault(owner, set()).add(address)
    for source in catalogue.sources.values():
        for before, revision in zip(source.versions, source.revisions, strict=False):
            if revision.blocklists:
                address = documents_asset(source.name, revision.version)
                yield _selected(address, source.name, before, revision, near)
    for mix, stream in catalogue.streams():
        if stream.blocklists:
            address = mix_asset(mix.name, stream.key)
            selected = _selected(address, stream.source, stream.version, stream, near, mix.name)
            yield _with_exports(catalogue, mix, stream, selected)


def _with_exports(catalogue: Catalogue, mix: Mix, stream: Stream, selected: Selected) -> Selected:
    """The slice of a mix with the exports that a takedown reaches at once."""
    exports = catalogue.exports_of_mix(mix)
    excluding = [export.name for export in exports if codec_of_format(export.format).can_exclude]
    others = [export.name for export in exports if export.name not in excluding]
    return replace(
        selected,
        exports=tuple(export_asset(mix.name, name, stream.key) for name in others),
        indexes=tuple(export_index(mix.name, name) for name in excluding),
    )


def _selected(
    address: str, source: str, version: str, selection: Selection, near: Mapping[str, set[str]], mix: str = ""
) -> Selected:
    reads = (documents_asset(source, version), *(attributes_asset(source, version, name) for name in selection.sets))
    return Selected(
        address, source, reads, frozenset(near[source]), selection.blocklists, frozenset({source, mix or source})
    )
