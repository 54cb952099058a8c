"""The audit of any partition with a ledger: what holds for every kind of asset. See verification/audit.py."""

from collections.abc import Iterator

from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.lake.address import Place
from gristmill.lake.ledger.receipts import objects_of
from gristmill.lake.store.protocol import Store
from gristmill.verification.ledger import LedgerProof, part_strays
from gristmill.verification.shard import prove_object


def partition_findings(store: Store, here: Place, say: Say) -> Iterator[Finding]:
    """What is wrong with head, table, inputs and the bytes of every object; nothing of what the objects mean."""
    proof = LedgerProof(store, here)
    yield from proof.findings
    if proof.head is None:
        return
    yield from proof.upstream(say)
    for shard in proof.shards:
        for path, sha256, size in objects_of(shard, here):
            yield from prove_object(store, path, sha256, size)
    yield from part_strays(store, here, proof.shards, say) if here.kind.immutable else proof.strays(say)
