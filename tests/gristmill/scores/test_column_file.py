import io

import pyarrow.parquet as pq
import pytest
from labelrows import write_labels
from testkit import Mill
from wholelake import WORDS

from gristmill.errors import DataError
from gristmill.lake.ledger.derived import columns_path
from gristmill.scores.column_file import open_columns
from gristmill.scores.label_columns import make_columns


def test_columns_of_another_content_or_of_no_form_count_as_absent(whole: Mill) -> None:
    shard = whole.table(WORDS)["a"]
    assert open_columns(whole.store, WORDS, shard) is None
    head = make_columns(whole.store, WORDS, shard, {"count": "score"})
    found = open_columns(whole.store, WORDS, shard)
    assert found
    assert found.head == head
    assert found.table(["words-1__count"]).to_pydict() == {"words-1__count": [float(n % 5 + 1) for n in range(20)]}
    changed = write_labels(whole, WORDS, "a", [{"words-1__count": 1.0}] * 20)
    assert open_columns(whole.store, WORDS, changed) is None
    good = whole.store.read(columns_path(WORDS, "a"))
    for wrong in (b"", b"PAR1", good[: len(good) // 2], good[:-9] + b"x" * 9):
        whole.store.put(columns_path(WORDS, "a"), wrong)
        assert open_columns(whole.store, WORDS, shard) is None


def test_a_bit_that_flips_in_the_values_is_never_a_score(whole: Mill) -> None:
    shard = whole.table(WORDS)["a"]
    make_columns(whole.store, WORDS, shard, {"count": "score"})
    path, column = columns_path(WORDS, "a"), "words-1__count"
    good = whole.store.read(path)
    chunk = pq.ParquetFile(io.BytesIO(good)).metadata.row_group(0).column(3)
    assert chunk.path_in_schema == column
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    values = [float(n % 5 + 1) for n in range(20)]
    damaged = 0
    for at in range(begin, begin + chunk.total_compressed_size):
        whole.store.put(path, good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1 :])
        found = open_columns(whole.store, WORDS, shard)
        assert found
        try:
            assert found.table([column]).to_pydict() == {column: values}
        except DataError as error:
            damaged += 1
            assert "a.parquet: is damaged" in str(error) and "delete it" in str(error)  # noqa: PT018, PT017
    assert damaged > chunk.total_compressed_size / 2


def test_a_column_that_the_file_should_have_and_lacks_is_damage(whole: Mill) -> None:
    shard = whole.table(WORDS)["a"]
    make_columns(whole.store, WORDS, shard, {"count": "score"})
    path = columns_path(WORDS, "a")
    file = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO(whole.store.read(path))).drop_columns(["words-1__count"]), file)
    whole.store.put(path, file.getvalue())
    found = open_columns(whole.store, WORDS, shard)
    assert found
    with pytest.raises(DataError, match=r"is damaged \(it has no column 'words-1__count'\); delete it"):
        found.table(["words-1__count"])
