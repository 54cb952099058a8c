import msgspec
import pytest

from gristmill.errors import DataError
from gristmill.lake.ledger.files import table_bytes
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.stored_part import StoredPart

RECORD = StoredPart({"f/b": ("22", 2), "f/a": ("11", 1)})
ROW = Shard(
    name="p", rows=0, bytes=3, length=0, sha256="", content="", ids="", recipe="", inputs=(), extra=RECORD.as_extra()
)


def test_a_record_comes_back_from_the_table_and_a_row_without_one_is_named() -> None:
    row = msgspec.json.decode(table_bytes([ROW]), type=Shard)
    assert StoredPart.decode_from_row(row, "t") == RECORD
    empty = msgspec.structs.replace(row, extra={})
    with pytest.raises(DataError, match=r"t: part p: its row does not say which files .*; make this partition again"):
        StoredPart.decode_from_row(empty, "t")


def test_size_and_digest_do_not_depend_on_the_order_of_the_objects() -> None:
    turned = StoredPart(dict(reversed(RECORD.objects.items())))
    other = StoredPart({**RECORD.objects, "f/a": ("12", 1)})
    assert (turned.bytes, turned.sha256) == (3, RECORD.sha256)
    assert other.sha256 != RECORD.sha256
