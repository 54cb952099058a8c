"""Takedowns that reach a release before the parts are made again: the format's own list of excluded samples."""

from collections.abc import Iterator, Sequence

from gristmill.lake.address import export_index
from gristmill.lake.rows.blocklists.blocklist import read_blocklist
from gristmill.lake.rows.shard_file import checked
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix
from gristmill.stages.export.codec import ExportedFile
from gristmill.stages.export.formats import codec_of
from gristmill.stages.export.release import sources_of
from gristmill.stages.mixing.index import Slice


def taken_down(store: Store, mix: Mix, export: Export, slices: Sequence[Slice]) -> list[str]:
    """The samples that a release must exclude, because a blocklist of the mix or the recipe names them.

    The parts are asked, not the mix: so it does not matter whether the mix was made again already. A part that was made
    again has no such document, and nothing of it is excluded.

    Args:
        store: the lake.
        mix: the mix's recipe, which names the blocklists of each stream.
        export: the export's recipe.
        slices: the slices of the export in the release.

    Returns:
        Paths of samples, as `path/key`; no samples if the format cannot exclude any.

    Raises:
        DataError: a blocklist or a ledger is wrong, or the recipe excludes a sample that no part has.
        RecipeError: the lake has no such blocklist.
        StoreError: a part is damaged, or its slice is being rebuilt.
    """
    codec = codec_of(export.format)
    if not codec.can_exclude:
        return []
    lists = {name: read_blocklist(store, name) for stream in mix.streams for name in stream.blocklists}
    blocked = {s.key: {pair for name in s.blocklists for pair in lists[name].reasons} for s in mix.streams}

    def read(file: ExportedFile) -> Iterator[bytes]:
        return checked(store.stream(file.path), file.path, file.sha256)

    return codec.excluded(sources_of(store, export_index(mix.name, export.name), slices), blocked, read)
