"""Parts of large raw objects: what each shard records of its part, and the check that the parts of an object meet."""

from collections.abc import Iterator, Sequence

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.execution.checks import Verdict, compared_counts_in_words
from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.raw_parts import Edge, PartEdges, object_name_and_offset
from gristmill.lake.store.protocol import Store
from gristmill.recipes.raw_object import RawObject

PART = "part"
"""The field of a shard's row of the table that holds its PartEdges."""

_MEND = "convert the object whole: give its source shards=OneToOne(), or a Split with more bytes than the object has"


def reported_part_edges(raw: RawObject) -> PartEdges | None:
    """The edges that a reader has reported; None if it has read a whole object.

    Args:
        raw: the object, after it was read.

    Raises:
        RecipeError: it is a part, and its reader did not report its edges.
    """
    if raw.part is None:
        return None
    if raw.edges is None:
        raise RecipeError(
            f"{raw.name}: the converter did not say where the records of this part begin and end, so it does not read"
            " parts; use shards=OneToOne() in its source"
        )
    return PartEdges(object_name_and_offset(raw.name)[0], raw.size, raw.part, *raw.edges, tuple(raw.sums))


def add_part_edges(row: Shard, edges: PartEdges | None) -> Shard:
    """The row of a shard with the edges of its part.

    Args:
        row: the row of the table.
        edges: edges of the shard's part; None if it was made from whole objects.
    """
    if edges is None:
        return row
    as_read = msgspec.json.decode(msgspec.json.encode(edges))  # lists, as a ledger gives them back
    return msgspec.structs.replace(row, extra={**row.extra, PART: as_read})


def recorded_part_edges(row: Shard, table: str) -> PartEdges | None:
    """The part that a shard was made from; None if it was made from whole objects.

    Args:
        row: the shard's row of the table.
        table: path of the table, for the message.

    Raises:
        DataError: the row says something else of its part.
    """
    try:
        return msgspec.convert(row.extra[PART], PartEdges) if PART in row.extra else None
    except msgspec.ValidationError as error:
        raise DataError(
            f"{table}: shard {row.name}: no edges of a part ({error}); make this partition again"
        ) from error


def uncut_part_note(edges: PartEdges, units: str) -> str:
    """The line of the log about a part that has the records of others, because nothing begins there; empty: it has not.

    Args:
        edges: edges of the part.
        units: units at which its object is cut, such as `gzip members`.

    >>> from gristmill.lake.rows.raw_parts import RawPart
    >>> uncut_part_note(PartEdges("a.gz", 900, RawPart(0, 100), Edge(0), Edge(900)), "gzip members")
    'a.gz: no gzip member begins behind its first 100 bytes, so it stays one shard, and 8 are empty'
    >>> uncut_part_note(PartEdges("a.gz", 900, RawPart(200, 300), Edge(210), Edge(540, 7)), "gzip members")
    'a.gz: no gzip member begins between the bytes 300 and 540, so shards of this range are empty: 2'
    >>> uncut_part_note(PartEdges("a.gz", 900, RawPart(200, 300), Edge(210), Edge(340)), "gzip members")
    ''
    """
    part, last = edges.part, edges.last
    reach = last.unit - part.end if last else 0
    width, unit = part.end - part.start, units.removesuffix("s")
    empty = -(-reach // width) if last and last.unit == edges.size else reach // width
    if last is None or empty <= 0:
        return ""
    if not part.start and last.unit == edges.size:
        what = f"no {unit} begins behind its first {part.end:,} bytes, so it stays one shard, and {empty:,} are empty"
    else:
        what = (
            f"no {unit} begins between the bytes {part.end:,} and {last.unit:,}, so shards of this range are empty:"
            f" {empty:,}"
        )
    return f"{edges.object}: {what}"


def check_parts_meet(store: Store, place: Place, shards: Sequence[Shard]) -> Verdict:  # noqa: ARG001 - see Check
    """Checks that the parts of each object hold each of its records once.

    The first part begins where its object begins. Each other one begins where the one before it has stopped, although
    both have looked for this place by themselves. The last one has stopped at the end of its object. Of bz2, the blocks
    of all parts together have the checksum that the end of their stream states.

    Args:
        store: the lake.
        place: the partition.
        shards: its table.

    Returns:
        The verdict, with the first object whose parts do not meet.
    """
    objects: dict[str, list[PartEdges]] = {}
    for shard in shards:
        part = recorded_part_edges(shard, place.table)
        if part is not None:
            objects.setdefault(part.object, []).append(part)
    facts = compared_counts_in_words(shards) | {"files": len(objects), "parts": sum(map(len, objects.values()))}
    for name, parts in sorted(objects.items()):
        trouble = next(_part_order_problems(sorted(parts, key=lambda part: part.part)), None)
        if trouble:
            text = f"{name}: {trouble}. {_MEND}"
            return Verdict("parts_meet", passed=False, description=text, metadata={**facts, "first object": name})
    text = f"{facts['parts']:,} parts of {facts['files']:,} objects meet: no record is lost or taken twice"
    return Verdict("parts_meet", passed=True, description=text, metadata=facts)


def _part_order_problems(parts: Sequence[PartEdges]) -> Iterator[str]:
    """What is wrong with the parts of an object, in their order."""
    at, size, nominal, crc = Edge(0), parts[0].size, 0, 0
    for each in parts:
        if each.part.start != nominal or each.size != size:
            yield f"the part from byte {nominal:,} is missing"
        nominal = each.part.end
        for found in each.sums:
            crc = found.combined_with(crc)
            if found.stated is not None:
                if crc != found.stated:
                    yield (
                        f"the checksum of the bz2 stream that ends behind byte {each.part.start:,} is wrong, so blocks"
                        " are missing or changed; acquire the object again"
                    )
                crc = 0
        if each.first is None or each.last is None:
            continue
        if each.first != at:
            yield (
                f"the part from byte {each.part.start:,} begins {_edge_in_words(each.first)}, but the parts before it"
                f" end {_edge_in_words(at)}"
            )
        at = each.last
    if nominal != size:
        yield f"the part from byte {nominal:,} is missing"
    if at != Edge(size):
        yield f"its parts end {_edge_in_words(at)}, but it has {size:,} bytes"


def _edge_in_words(edge: Edge) -> str:
    return f"at byte {edge.unit:,}" + (f" and {edge.plain:,} unpacked bytes" if edge.plain else "")
