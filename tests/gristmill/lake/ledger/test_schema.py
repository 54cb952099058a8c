import pickle

import pytest

from gristmill.errors import NewerSchema
from gristmill.lake.ledger.schema import refuse_newer_schema


@pytest.mark.parametrize(
    "data", [b'{"schema":0}', b'{"schema":1,"more":[]}', b"", b"{", b"[]", b'{"schema":"\xff', b'{"a":' * 100_000]
)
def test_what_is_not_newer_is_left_to_its_reader(data: bytes) -> None:
    refuse_newer_schema(data, "a.json")


def test_a_newer_schema_asks_for_an_upgrade_and_travels_between_processes() -> None:
    with pytest.raises(NewerSchema) as caught:
        refuse_newer_schema(b'{"fields":"unknown","schema":2}', "a.json")
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert str(error) == "a.json: has schema 2, and this Gristmill reads 1: upgrade Gristmill"
