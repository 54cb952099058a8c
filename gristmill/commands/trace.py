"""`trace LAKE SOURCE ID`: where a document lies, from raw bytes to tokens; `trace LAKE CACHE:OFFSET`: the way back.

SOURCE is what the documents' field `source` says, as a rule the source's name. CACHE is the address of a stream's token
cache, `token_caches/<mix>/<tokenizer>/<stream>`, with `/validation` behind it for the documents held out; OFFSET counts
the tokens of that split from 0.
"""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

import msgspec

from gristmill.commands._terminal import add_lake, add_shelves, lake_of, shelves_of, show
from gristmill.errors import RecipeError, shorten
from gristmill.lake.address import SPLITS, check_snapshot
from gristmill.lake.asset_kinds import TOKEN_CACHE, expression_of
from gristmill.tracing.raw import RawPlace, Shelves
from gristmill.tracing.tokens import TokenPlace
from gristmill.tracing.trace import RowPlace, TokenWhereabouts, Whereabouts, of_document, of_token

HELP = "say where a document lies: raw bytes, versions, attributes, mixes, tokens; or whose a token is"

_TOKEN = re.compile(
    rf"(?P<cache>{expression_of(TOKEN_CACHE.address)})(?:/(?P<split>{'|'.join(SPLITS)}))?:(?P<offset>[0-9]+)"
)
_LONGEST = 200


def declare(parser: ArgumentParser) -> None:
    """The arguments."""
    add_lake(parser)
    parser.add_argument("what", metavar="SOURCE | CACHE:OFFSET", help="the documents' source, or a token's address")
    parser.add_argument("id", nargs="?", metavar="ID", help="the document's, where a source is named")
    parser.add_argument("--snapshot", default="", help="only this snapshot of the source")
    parser.add_argument("--json", action="store_true", help="a JSON object a snapshot, on a line")
    add_shelves(parser)


def run(arguments: Namespace) -> int:
    """Looks, and says so.

    Raises:
        RecipeError: neither SOURCE ID nor CACHE:OFFSET was given.
        DataError: there is no such document or token, or what is there does not agree.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    lake = lake_of(arguments)
    store, shelves = lake.store(), Shelves(shelves_of(arguments), lake.options)
    token = _TOKEN.fullmatch(arguments.what)
    if arguments.id is None:
        if token is None or arguments.snapshot:
            raise RecipeError(
                f"{arguments.what}: name a source and an id, or a token as in"
                " token_caches/<mix>/<tokenizer>/<stream>:1000 (or .../<stream>/validation:1000, and no --snapshot)"
            )
        _say(
            of_token(store, token["cache"], token["split"] or SPLITS[0], int(token["offset"]), shelves),
            as_json=arguments.json,
        )
        return 0
    snapshot = check_snapshot(arguments.snapshot) if arguments.snapshot else ""
    for found in of_document(store, arguments.what, arguments.id, shelves, snapshot):
        _say(found, as_json=arguments.json)
    return 0


def _say(found: Whereabouts | TokenWhereabouts, *, as_json: bool) -> None:
    if as_json:
        show(msgspec.json.encode(found).decode())
        return
    document = found.document if isinstance(found, TokenWhereabouts) else found
    if isinstance(found, TokenWhereabouts):
        count = found.tokens[1] - found.tokens[0]
        show(f"{found.asset}/{found.split}:{found.offset} is number {found.number} (from 0) of the {count} tokens of")
    for line in _lines(document):
        show(line)


def _lines(found: Whereabouts) -> Iterator[str]:
    yield f"{found.id!r} of {found.source!r}, snapshot {found.snapshot}, shard {found.shard}"
    if found.raw is not None:
        yield f"  {_raw(found.raw)}"
    for row in (*found.documents, *found.attributes, *found.mixes):
        yield f"  {_row(row)}"
    for tokens in found.token_caches:
        yield f"  {_tokens(tokens)}"
    for part in found.parts:
        yield f"  {part.path}: made from its shard{f'; {part.why}' if part.why else ''}"


def _raw(found: RawPlace) -> str:
    name = found.path or (f"{found.asset}: {found.object}" if found.object else found.asset)
    within = {"member": f" of the member {found.member}", "unpacked object": " of what it unpacks to"}
    unit = "rows" if found.counted_in == "rows" else "bytes"
    where = f"{unit} {found.range[0]}-{found.range[1]}{within.get(found.counted_in, '')}" if found.range else ""
    return f"{name}: {'; '.join(filter(None, (where, found.why)))}"


def _row(found: RowPlace) -> str:
    if found.member is None:
        return f"{found.asset}: not there: {found.why}"
    said = msgspec.json.encode(found.attributes).decode() if found.attributes is not None else ""
    more = f" {shorten(said, _LONGEST)}" if said else ""
    due = f"; {found.why}" if found.why else ""
    return f"{found.path}: row {found.row} (gzip member {found.member[0]}-{found.member[1]}{due}){more}"


def _tokens(found: TokenPlace) -> str:
    if not found.split:
        return f"{found.asset}: not there: {found.why}"
    where = f"tokens {found.tokens[0]}-{found.tokens[1]}" if found.tokens else found.why
    return f"{found.asset}/{found.split}: {where} (row {found.row} of {found.part})"
