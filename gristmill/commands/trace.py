"""`trace [LAKE] SOURCE ID` locates a document, raw bytes to tokens. `trace [LAKE] CACHE:OFFSET` starts from a token.

SOURCE is the value of the documents' field `source`, usually the name of the source. CACHE is the address of a stream's
token cache, `token_caches/<mix>/<tokenizer>/<stream>`; append `/validation` for its validation split. OFFSET is the
number of the token in that split, from 0.
"""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from gristmill.commands._shared.changes import change_lines
from gristmill.commands._shared.chosen_lake import is_lake_address
from gristmill.commands._shared.terminal import (
    add_bucket_options,
    add_shelves_option,
    lake_of_arguments,
    print_line,
    shelf_packages,
)
from gristmill.errors import RecipeError, shorten
from gristmill.lake.address import SPLITS, check_snapshot
from gristmill.lake.asset_kind import pattern_as_regex
from gristmill.lake.asset_kinds import TOKEN_CACHE
from gristmill.tracing.parts import SamplePlace
from gristmill.tracing.raw import RawPlace, Shelves
from gristmill.tracing.tokens import TokenPlace
from gristmill.tracing.trace import DocumentTrace, RowPlace, TokenTrace, trace_document, trace_token_document

HELP = "locate a document: raw bytes, versions, attributes, mixes, tokens; or find the document of a token"

_TOKEN = re.compile(
    rf"(?P<cache>{pattern_as_regex(TOKEN_CACHE.address)})(?:/(?P<split>{'|'.join(SPLITS)}))?:(?P<offset>[0-9]+)"
)
_LONGEST = 200


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[LAKE] SOURCE ID, or [LAKE] CACHE:OFFSET",
        help="the document's source and its id, or a token's address; before it the lake: -, s3://bucket/prefix, or a"
        " folder; by default that of the project or GRISTMILL_LAKE",
    )
    add_bucket_options(parser)
    parser.add_argument("--snapshot", default="", help="only this snapshot of the source")
    parser.add_argument("--json", action="store_true", help="one JSON object per snapshot, each on one line")
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Locates the document, and shows each place. Returns 0.

    Raises:
        RecipeError: neither SOURCE ID nor CACHE:OFFSET was given.
        Unknown: there is no such document.
        DataError: there is no such token, or the places of a document do not agree.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    arguments.lake, what, name = _lake_and_what(arguments.words)
    lake = lake_of_arguments(arguments)
    store, shelves = lake.store(), Shelves(shelf_packages(arguments), lake.options)
    if name is None:
        token = _TOKEN.fullmatch(what)
        if token is None or arguments.snapshot:
            raise RecipeError(
                f"{' '.join(arguments.words)}: name a source and an id, or a token as in"
                " token_caches/<mix>/<tokenizer>/<stream>:1000 (or .../<stream>/validation:1000, and no --snapshot);"
                " write - before a source that has the name of a lake in this folder"
            )
        _print_trace(
            trace_token_document(store, token["cache"], token["split"] or SPLITS[0], int(token["offset"]), shelves),
            as_json=arguments.json,
        )
        return 0
    snapshot = check_snapshot(arguments.snapshot) if arguments.snapshot else ""
    for trace in trace_document(store, what, name, shelves, snapshot):
        _print_trace(trace, as_json=arguments.json)
    return 0


def _lake_and_what(words: Sequence[str]) -> tuple[str, str, str | None]:
    """The lake, by default `-`; a source or a token's address; and the document's id, None if no such word is left."""
    place = len(words) == 2 and Path(words[0]).is_dir() and _TOKEN.fullmatch(words[1])
    has_lake = len(words) > 2 or place or is_lake_address(words[0])
    lake, rest = (words[0], words[1:]) if has_lake else ("-", words)
    match rest:
        case []:
            return lake, "", None
        case [what]:
            return lake, what, None
        case [what, name]:
            return lake, what, name
        case _:
            raise RecipeError(f"{' '.join(words)}: give SOURCE ID or CACHE:OFFSET, after the lake or alone")


def _print_trace(trace: DocumentTrace | TokenTrace, *, as_json: bool) -> None:
    if as_json:
        print_line(msgspec.json.encode(trace).decode())
        return
    document = trace.document if isinstance(trace, TokenTrace) else trace
    if isinstance(trace, TokenTrace):
        count = trace.tokens[1] - trace.tokens[0]
        print_line(
            f"{trace.asset}/{trace.split}:{trace.offset} is number {trace.number} (from 0) of the {count} tokens of"
        )
    for line in _trace_lines(document):
        print_line(line)


def _trace_lines(trace: DocumentTrace) -> Iterator[str]:
    yield f"{trace.id!r} of {trace.source!r}, snapshot {trace.snapshot}, shard {trace.shard}"
    if trace.raw is not None:
        yield f"  {_raw_line(trace.raw)}"
    for row in (*trace.documents, *trace.attributes, *trace.mixes):
        yield f"  {_row_line(row)}"
        yield from (f"    {line}" for line in change_lines(row.changes))
    for tokens in trace.token_caches:
        yield f"  {_token_line(tokens)}"
    for part in trace.parts:
        if not part.lines:
            yield f"  {part.path}: made from its shard{f'; {part.why}' if part.why else ''}"
        samples = {sample.path: sample for sample in part.samples}
        yield from (f"  {path}: line {line}{_sample_line(samples.get(path))}" for path, line in part.lines)
        if part.release:
            yield f"  {part.release} names this file where it is"


def _sample_line(sample: SamplePlace | None) -> str:
    if sample is None:
        return ""
    return f", from byte {sample.offset}{f', sample {sample.key}' if sample.key else ''}"


def _raw_line(raw: RawPlace) -> str:
    name = raw.path or (f"{raw.asset}: {raw.object}" if raw.object else raw.asset)
    within = {
        "member": f" of the member {raw.member}",
        "unpacked object": " of what it unpacks to",
        "unpacked part": f" of what it unpacks to from its byte {raw.begins} on",
    }
    unit = "rows" if raw.counted_in == "rows" else "bytes"
    located = f"{unit} {raw.range[0]}-{raw.range[1]}{within.get(raw.counted_in, '')}" if raw.range else ""
    return f"{name}: {'; '.join(filter(None, (located, raw.why)))}"


def _row_line(row: RowPlace) -> str:
    if row.member is None:
        return f"{row.asset}: not there: {row.why}"
    attributes = msgspec.json.encode(row.attributes).decode() if row.attributes is not None else ""
    more = f" {shorten(attributes, _LONGEST)}" if attributes else ""
    due = f"; {row.why}" if row.why else ""
    return f"{row.path}: row {row.row} (gzip member {row.member[0]}-{row.member[1]}{due}){more}"


def _token_line(tokens: TokenPlace) -> str:
    if not tokens.split:
        return f"{tokens.asset}: not there: {tokens.why}"
    located = f"tokens {tokens.tokens[0]}-{tokens.tokens[1]}" if tokens.tokens else tokens.why
    return f"{tokens.asset}/{tokens.split}: {located} (row {tokens.row} of {tokens.part})"
