"""Media files that documents name. An erasure cuts records out of raw objects; these files it only names.

A file belongs to many documents or to one, and others may have made it. So a person decides what becomes of it.
"""

from collections.abc import Collection, Iterator
from itertools import chain

from gristmill.energon.exports.document_values import media_names
from gristmill.energon.exports.media_source import open_media
from gristmill.energon.exports.row_fields import RowFields
from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.errors import DataError, StoreError
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.erasures import MediaFile
from gristmill.recipes.catalogue import Catalogue
from gristmill.takedowns.places import Search
from gristmill.tracing.rows import find_partition, read_known_row

WHY = "a document names this media file; if no other one does, remove it (from a tar: pack it again), then erase again"
"""Why a media file is not erased, and the mend."""


def media_of_documents(store: Store, search: Search, catalogue: Catalogue) -> list[MediaFile]:
    """The media files of found documents, below the roots of the exports of their sources.

    Args:
        store: the lake.
        search: the places of the documents.
        catalogue: recipes.

    Raises:
        DataError: a ledger or a row is wrong.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    found: dict[MediaFile, None] = {}
    for each in search.found:
        asked = (
            _media_paths_by_root(catalogue, names_in_asset_address(each.asset)["source"])
            if each.area == "documents"
            else {}
        )
        partition = find_partition(store, place(each.asset, each.snapshot)) if asked else None
        if partition is None:
            continue
        row = read_known_row(partition, each.shard, each.row, each.pair)
        for root, paths in sorted(asked.items()):
            [values] = RowFields(sorted(paths)).read(row.line + b"\n", row.path, row.row)
            named = chain.from_iterable(media_names(value) or () for value in values if value is not None)
            found |= dict.fromkeys(MediaFile(*each.pair, root, name) for name in named)
    return list(media_still_present(store, found))


def media_still_present(store: Store, files: Collection[MediaFile]) -> Iterator[MediaFile]:
    """The media files that are there, or of which nobody can tell.

    Args:
        store: the lake.
        files: the files.
    """
    for each in files:
        try:
            media = open_media(store, each.root)
            if media is not None and media.has_file(each.name, each.id):
                yield each
        except (DataError, StoreError):  # such as a disk that is not mounted
            yield each


def _media_paths_by_root(catalogue: Catalogue, source: str) -> dict[str, set[str]]:
    """The paths of the values that name media, by the root of the media."""
    asked: dict[str, set[str]] = {}
    for mix, stream in catalogue.streams():
        for export in catalogue.exports_of_mix(mix) if stream.source == source else ():
            form = export.format
            if isinstance(form, EnergonJsonl | EnergonWebdataset) and form.root:
                files = form.files.values() if isinstance(form, EnergonWebdataset) else ()
                asked.setdefault(form.root.rstrip("/"), set()).update(
                    path.removesuffix("?") for path in (*form.media, *files)
                )
    return {root: paths for root, paths in asked.items() if paths}
