"""Writes the rows of an attribute set by hand, with a ledger that fits."""

import json
from collections.abc import Sequence
from typing import Any

from testkit import Mill
from wholelake import reseal_shard

from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.shard_file import ShardWriter


def write_labels(mill: Mill, where: Place, shard: str, labels: Sequence[dict[str, Any]], first: int = 0) -> Shard:
    """Labels of the documents `doc-00000`, ... as rows of a shard; a number stands for one span of the whole text."""
    rows: list[bytes] = []
    for number, row in enumerate(labels, start=first):
        attributes = {key: [[0, 4, value]] if isinstance(value, float) else value for key, value in row.items()}
        rows.append(json.dumps({"id": f"doc-{number:05d}", "source": "pages", "attributes": attributes}).encode())
    return write_rows(mill, where, shard, rows)


def write_rows(mill: Mill, where: Place, shard: str, rows: Sequence[bytes]) -> Shard:
    """Rows of the same documents as a shard."""
    writer = ShardWriter(mill.store, where.shard(shard))
    writer.write(b"".join(row + b"\n" for row in rows))
    done = writer.close()
    changes = {"rows": done.rows, "bytes": done.bytes, "length": done.length, "members": tuple(done.members)}
    reseal_shard(mill, where, shard, sha256=done.sha256, content=done.content, **changes)
    return mill.table(where)[shard]
