"""Every kind of asset with partitions is verified and searched: by a room that knows it, or by its stage."""

import pytest

from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import ATTRIBUTES, DOCUMENTS, KINDS, PARTITIONED
from gristmill.shipped import SHIPPED
from gristmill.stages.kind import ASSET_KINDS, KindBehaviour, behaviour_of_kind
from gristmill.verification.audit import PROOFS

KNOWN = {*PROOFS, DOCUMENTS, ATTRIBUTES}


@pytest.mark.parametrize("kind", PARTITIONED, ids=lambda kind: kind.name)
def test_a_kind_is_verified_and_searched_by_a_room_or_by_its_stage(kind: AssetKind) -> None:
    answers = type(behaviour_of_kind(kind))
    assert (answers.findings is KindBehaviour.findings) == (kind in KNOWN)
    if kind not in KNOWN:
        assert (answers.held_documents is not KindBehaviour.held_documents) == bool(kind.area)


def test_every_entry_is_of_a_kind_and_fits() -> None:
    assert SHIPPED["asset_kinds"].keys() <= {kind.name for kind in KINDS}
    assert ASSET_KINDS.names == sorted(SHIPPED["asset_kinds"])
    assert all(issubclass(ASSET_KINDS.load(name), KindBehaviour) for name in ASSET_KINDS.names)
