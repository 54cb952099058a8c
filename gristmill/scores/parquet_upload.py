"""Writes a parquet file to the lake: it appears when it is complete, and each page has a checksum."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import Conflict
from gristmill.lake.store.protocol import Store


class _Sink:
    """An upload as the file that pyarrow writes to."""

    closed = False

    def __init__(self, upload: Any) -> None:
        self._upload = upload

    def write(self, data: Any) -> int:
        held = bytes(data)
        self._upload.write(held)
        return len(held)

    def flush(self) -> None:
        """Nothing is kept back."""

    def close(self) -> None:
        """The upload is closed by its owner."""


def write_parquet(store: Store, path: str, schema: Any, batches: Iterable[Any]) -> None:
    """Writes record batches as one file. If another writer is faster, the file is that writer's.

    Args:
        store: store that receives the file.
        path: path of the file.
        schema: schema of the file, with its metadata.
        batches: the rows. A column that a batch lacks is null there; one that the schema lacks is left out.
    """
    upload = store.upload(path)
    try:
        with pq.ParquetWriter(
            _Sink(upload), schema, compression="zstd", compression_level=1, write_page_checksum=True
        ) as writer:
            for batch in batches:
                absent = (pa.nulls(batch.num_rows, field.type) for field in schema)
                here = set(batch.schema.names)
                arrays = [
                    batch.column(field.name) if field.name in here else empty
                    for field, empty in zip(schema, absent, strict=True)
                ]
                writer.write_batch(pa.record_batch(arrays, schema=schema))
        upload.close()
    except Conflict:
        return  # the file of the other writer says what it was made from
    except BaseException:
        upload.abort()
        raise
