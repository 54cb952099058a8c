"""The audit of a partition of any kind: the checks that all kinds of assets share. See verification/audit.py."""

from collections.abc import Iterator

from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.lake.address import Place
from gristmill.lake.ledger.receipts import objects_of
from gristmill.lake.store.protocol import Store
from gristmill.verification.ledger import LedgerProof, part_strays
from gristmill.verification.shard import prove_object


def partition_findings(store: Store, partition: Place, say: Say) -> Iterator[Finding]:
    """Findings on head, table, inputs and the bytes of each object. The content of the objects is not decoded."""
    proof = LedgerProof(store, partition)
    yield from proof.findings
    if proof.head is None:
        return
    yield from proof.upstream()
    for shard in proof.shards:
        for path, sha256, size in objects_of(shard, partition):
            yield from prove_object(store, path, sha256, size)
    yield from part_strays(store, partition, proof.shards, say) if partition.kind.immutable else proof.strays(say)
