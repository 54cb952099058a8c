"""Compares the ledger's table of an export with the mix's slice, and with the objects of the parts."""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from gristmill.errors import DataError
from gristmill.execution.checks import Verdict, compared_counts_in_words
from gristmill.execution.finding import Finding, difference_in_words
from gristmill.execution.part_output import part_object_findings
from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.bitmap import unpack_bits
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export_formats.codec import MANY_FILES
from gristmill.stages.export.part import CONTENTS, ExportedPart, part_contents, unpacked_content_digest

MEND = "make this slice of the export again"


def check_export_complete(store: Store, documents: Sequence[Shard], parts: Sequence[Shard], place: Place) -> Verdict:
    """Checks that each document of the mix's slice is in exactly one file of its part, or was refused and counted.

    Reads the table and one listing.

    Args:
        store: the lake.
        documents: the shards of the mix's slice.
        parts: the rows of the export's table.
        place: the slice of the export.

    Returns:
        The verdict, with the first part that is wrong.

    Raises:
        StoreError: the lake does not answer.
    """
    wrong = [*part_set_findings(place, documents, parts), *part_record_findings(store, place, parts)]
    refused = sum(number for part in parts for number in part.dropped.values())
    facts = compared_counts_in_words(documents) | {"parts": len(parts), "rows refused": refused}
    if wrong:
        facts |= {"troubles": len(wrong), "first": wrong[0].what}
        return Verdict("export_complete", passed=False, description=f"{wrong[0]}; {MEND}", metadata=facts)
    text = f"{facts['rows']:,} rows of {len(documents)} shards: {sum(part.rows for part in parts):,} in files,"
    text += f" {refused:,} refused by the format"
    facts["files"] = files = _document_file_findings(place, parts)
    if files > MANY_FILES:
        facts["warning"] = f"{files:,} files; loaders work best with at most {MANY_FILES:,} in a dataset"
        text += f"; warning: {facts['warning']}"
    return Verdict("export_complete", passed=True, description=text, metadata=facts)


def _document_file_findings(place: Place, parts: Sequence[Shard]) -> int:
    """Number of files with documents, such as tars. Readers of some formats do not like too many."""
    records = (ExportedPart.decode_from_row(part, place.table) for part in parts)
    return sum(bool(file.facts.rows) for record in records for file in record.files.values())


def part_set_findings(place: Place, documents: Sequence[Shard], parts: Sequence[Shard]) -> Iterator[Finding]:
    """Findings unless each shard of the mix has its part, made from all its rows, and there are no other parts."""
    by_name = {part.name: part for part in parts}
    for shard in documents:
        part = by_name.pop(shard.name, None)
        if part is None:
            yield Finding(place.table, None, f"shard {shard.name} of the mix has no part")
            continue
        if [read.content for read in part.inputs] != [shard.identity]:
            yield Finding(place.table, None, f"part {part.name} was made from another version of its shard's content")
        refused = sum(part.dropped.values())
        if part.rows + refused != shard.rows:
            what = f"part {part.name} has {part.rows} rows and {refused} were refused, but its shard has {shard.rows}"
            yield Finding(place.table, None, what)
        if part.ids != shard.ids:
            yield Finding(
                place.table, None, f"part {part.name}: {difference_in_words('its ids digest is', part.ids, shard.ids)}"
            )
    for name in sorted(by_name):
        yield Finding(place.table, None, f"part {name} has no shard in the mix")


def part_record_findings(store: Store, place: Place, parts: Sequence[Shard]) -> Iterator[Finding]:
    """Findings unless each part's record agrees with itself and its row, and its objects have their sizes."""
    sizes = {entry.path: entry.size for entry in store.list(place.folder)} if parts else {}
    for part in parts:
        try:
            record = ExportedPart.decode_from_row(part, place.table)
            yield from _part_total_findings(place, part, record)
        except DataError as error:
            yield Finding(place.table, None, str(error).removeprefix(f"{place.table}: "))
            continue
        yield from part_object_findings(record, sizes)


def _part_total_findings(place: Place, part: Shard, record: ExportedPart) -> Iterator[Finding]:
    """Findings unless the row follows from its record.

    Raises:
        DataError: the record cannot be read.
    """
    if record.objects.keys() != {record.folder + name for name in (*record.files, CONTENTS)}:
        yield Finding(place.table, None, f"part {part.name}: its objects are not its files and {CONTENTS}")
    elif record.objects[record.folder + CONTENTS][0] != hashlib.sha256(part_contents(record.files)).hexdigest():
        yield Finding(record.folder + CONTENTS, None, "it does not list the files of the part's record")
    times = np.zeros(record.documents, np.int64)
    for name, file in record.files.items():
        flags = unpack_bits(file.documents, record.documents)
        times += flags
        if int(flags.sum()) != file.facts.rows:
            what = f"part {part.name}: {name} has {file.facts.rows} rows, but {int(flags.sum())} documents"
            yield Finding(place.table, None, what)
    if times.max(initial=0) > 1:
        yield Finding(place.table, None, f"part {part.name}: row {int(times.argmax())} of its shard is in two files")
    found = {
        "documents": (record.documents, part.rows + sum(part.dropped.values())),
        "rows": (sum(file.facts.rows for file in record.files.values()), part.rows),
        "unpacked bytes": (sum(file.facts.length for file in record.files.values()), part.length),
        "bytes": (record.bytes, part.bytes),
        "sha256": (record.sha256, part.sha256),
        "content digest": (unpacked_content_digest(record.files), part.content),
    }
    for what, (recorded, expected) in found.items():
        if recorded != expected:
            yield Finding(
                place.table,
                None,
                f"part {part.name}: {difference_in_words(f'the {what} of its record are', recorded, expected)}",
            )
