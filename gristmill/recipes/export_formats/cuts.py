"""Cuts the files of a release by size, between the members of the files of parts that they consist of."""

from collections.abc import Iterator, Sequence

from gristmill.recipes.export_formats.codec import Cut, ExportedFile, Piece


def cut_release_files(sources: Sequence[ExportedFile], most: int) -> Iterator[list[Piece]]:
    """The pieces of each file of a release: as many members as fit into `most` unpacked bytes, and at least one.

    Args:
        sources: the files of the parts, in their order.
        most: unpacked bytes of one file of the release.
    """
    pieces: list[Piece] = []
    held = 0
    for source in sources:
        for start, end, row, rows, length in _gzip_members(source):
            if pieces and held + length > most:
                yield pieces
                pieces, held = [], 0
            last = pieces[-1] if pieces else None
            if last and (last.path, last.end) == (source.path, start):
                pieces[-1] = Piece(last.path, last.start, end, last.row, last.rows + rows)
            else:
                pieces.append(Piece(source.path, start, end, row, rows))
            held += length
    if pieces:
        yield pieces


def _gzip_members(source: ExportedFile) -> Iterator[tuple[int, int, int, int, int]]:
    """(first byte, end, first row, rows, unpacked bytes) of each member of a part's file; else of all of it."""
    facts = source.facts
    members = facts.members or (Cut(0, 0, 0),)
    for number, member in enumerate(members):
        after = members[number + 1] if number + 1 < len(members) else None
        end = after.start if after else source.size
        rows = (after.row if after else facts.rows) - member.row
        length = (after.length if after else facts.length) - member.length
        yield member.start, end, member.row, rows, length
