"""Objects of a lake that no digest proves and that have no text of a document: each is read, and must be of its form.

An object that has more than its form may be anything, such as a row under the name of a ledger.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from gristmill.errors import GristmillError
from gristmill.lake.address import place_of_ledger
from gristmill.lake.asset_kinds import TOKENIZER, kind_of, whole_asset_of
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import IndexLedger
from gristmill.lake.ledger.lake_id import LAKE_FILE, LakeId
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.ledger.receipts import RunNote
from gristmill.lake.rows.blocklists.blocklist import is_blocklist, is_erasure
from gristmill.lake.rows.blocklists.blocklist_files import BlocklistRow, is_record
from gristmill.lake.rows.shard_file import read_blocks, split_rows
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.erasures import ErasureRecord
from gristmill.releases.pinned import PinnedRelease
from gristmill.stages.fingerprints.order import Order, dedupe_order_path
from gristmill.stages.models.ledger import FolderLedger
from gristmill.stages.tokenization.files import TokenizerLedger

_FORMS: Mapping[re.Pattern[str], type[msgspec.Struct]] = {
    re.compile(re.escape(LAKE_FILE)): LakeId,
    re.compile(r"(withdrawn/)?releases/[^/]+\.json"): PinnedRelease,
    re.compile(dedupe_order_path("[^/]+").replace(".", r"\.")): Order,
}
"""The forms of objects without a ledger, by their paths."""


def json_form_of_path(path: str) -> type[msgspec.Struct] | None:
    """The form that an object of JSON must have; None if no form is known by its path.

    Args:
        path: path of the object.
    """
    if place_of_ledger(path):
        return Ledger
    if path.endswith(".run.json") and place_of_ledger(f"{path.removesuffix('.run.json')}.json"):
        return RunNote
    asset = whole_asset_of(path)
    kind = kind_of(asset) if asset else None
    if kind is not None:
        return IndexLedger if kind.closes else TokenizerLedger if kind is TOKENIZER else FolderLedger
    if is_erasure(path):
        return ErasureRecord
    return next((form for pattern, form in _FORMS.items() if pattern.fullmatch(path)), None)


def why_not_own(store: Store, path: str, form: type[msgspec.Struct] | None = None) -> str | None:
    """The reason why an object is not what its path says; empty if it is, None if its path says nothing.

    Args:
        store: the lake.
        path: path of the object.
        form: form that it must have; None: that of its path.

    Raises:
        StoreError: the lake does not answer.
    """
    if is_blocklist(path) or is_record(path):
        return _why_no_list(store, path)
    form = form or json_form_of_path(path)
    if form is None:
        return None
    return "" if has_form(store.read(path), form) else f"it is not what lies at such a path ({form.__name__})"


def _why_no_list(store: Store, path: str) -> str:
    try:
        for block in read_blocks(store, path):
            for number, line in enumerate(split_rows(block)):
                if line.strip() and not has_form(line, BlocklistRow):
                    return f"row {number} of it is not only source, id and reason"
    except GristmillError as error:
        return str(error).removeprefix(f"{path}: ")
    return ""


def has_form(data: bytes, form: type[msgspec.Struct]) -> bool:
    """Whether a JSON object is of a form, and has nothing else at any depth.

    Args:
        data: its bytes.
        form: the declared type.

    >>> has_form(b'{"id": "7"}', LakeId), has_form(b'{"id":"7","text":"a"}', LakeId)
    (True, False)
    """
    try:
        again = as_json(msgspec.json.decode(data, type=form))
        return again == data or _is_within(json.loads(data, object_pairs_hook=_dict_without_repeats), json.loads(again))
    except (*NOT_DECODED, ValueError):
        return False


def _dict_without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as a dict.

    Raises:
        ValueError: a key stands there twice; a decoder takes the last one only.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _is_within(value: Any, whole: Any) -> bool:
    """Whether a JSON value has nothing that another one has not."""
    if isinstance(value, dict) and isinstance(whole, dict):
        return all(key in whole and _is_within(each, whole[key]) for key, each in value.items())
    if isinstance(value, list) and isinstance(whole, list):
        return len(value) == len(whole) and all(map(_is_within, value, whole))
    return bool(value == whole)
