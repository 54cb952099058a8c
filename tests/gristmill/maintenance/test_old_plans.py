"""Packing plans that no trainer can read: gc removes them, and `verify` says so."""

from lies import audit
from packedlake import BYTES, INDEX, indexes_of, make_caches, mix_of
from testkit import Mill

from gristmill.maintenance.old_plans import OldPlans, find_old_plans, remove_old_plans
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Text
from gristmill.stages.packing.plans import plan_cache

PACKED = {"texts": Text(pack=True)}


def close(mill: Mill, mix: Mix) -> None:
    indexes_of(mill, mix).close(mill.store)


def plans(mill: Mill) -> list[str]:
    return [entry.path.removeprefix(f"{INDEX}/packing/") for entry in mill.store.list(f"{INDEX}/packing/")]


def removed(mill: Mill) -> list[str]:
    """The names of the objects that gc removes."""
    said: list[str] = []
    gone = [
        name
        for old in find_old_plans(mill.store, said.append)
        if remove_old_plans(mill.store, old)
        for name in names(old)
    ]
    assert said == []
    return gone


def names(old: OldPlans) -> list[str]:
    return [entry.path.removeprefix(f"{INDEX}/packing/") for entry in old.entries]


def findings(mill: Mill) -> list[tuple[str, str]]:
    return [(each.path.removeprefix(f"{INDEX}/"), each.mend) for each in audit(mill)[0]]


def test_plans_of_a_stream_that_left_the_mix_go(mill: Mill) -> None:
    make_caches(mill, mix_of("texts", "talks", sequence_length=8, **PACKED), texts=[8] * 3, talks=[5] * 3)
    close(mill, mix_of("texts", "talks", sequence_length=8, **PACKED))
    assert removed(mill) == []
    close(mill, mix_of("talks", sequence_length=8))
    gone = ["packing/texts-train-8.json", "packing/texts-train-8.npy"]
    of_plans = [(path, mend) for path, mend in findings(mill) if path.startswith("packing/")]
    assert of_plans == [(path, "run gristmill gc, which removes it") for path in gone]
    assert [f"packing/{name}" for name in removed(mill)] == gone
    assert plans(mill) == ["8.json", "talks-train-8.json", "talks-train-8.npy"]
    assert removed(mill) == []


def test_plans_of_another_length_go_when_their_slices_changed(mill: Mill) -> None:
    """Those of 16 were declared once. As long as no slice changes, a trainer can read them."""
    old, new = (mix_of("texts", sequence_length=length, **PACKED) for length in (16, 8))
    make_caches(mill, old, texts=[8] * 3)
    close(mill, old)
    close(mill, new)
    assert (removed(mill), findings(mill)) == ([], [])
    make_caches(mill, new, texts=[8] * 4)
    close(mill, new)
    assert [path for path, _ in findings(mill)] == ["packing/16.json"]
    assert (
        "or remove its files of this length; gristmill gc removes them once no trainer can read one of them"
        in findings(mill)[0][1]
    )
    assert removed(mill) == ["texts-train-16.json", "texts-train-16.npy", "16.json"]  # the ledger goes last
    assert (findings(mill), plans(mill)) == ([], ["8.json", "texts-train-8.json", "texts-train-8.npy"])


def test_plans_that_were_written_again_meanwhile_stay(mill: Mill) -> None:
    mix = mix_of("texts", **PACKED)
    for rows in (3, 4):
        make_caches(mill, mix, texts=[8] * rows)
        close(mill, mix)
        if rows == 3:
            plan_cache(mill.store, mix, BYTES, 16, mill.said.append)
    (old,) = find_old_plans(mill.store, mill.said.append)
    plan_cache(mill.store, mix, BYTES, 16, mill.said.append)
    assert not remove_old_plans(mill.store, old)
    assert (removed(mill), findings(mill)) == ([], [])


def test_a_damaged_plan_is_left_to_verify(mill: Mill) -> None:
    mix = mix_of("texts", sequence_length=8, **PACKED)
    make_caches(mill, mix, texts=[8] * 3)
    close(mill, mix)
    mill.store.put(f"{INDEX}/packing/texts-train-8.json", b"{}")
    said: list[str] = []
    assert find_old_plans(mill.store, said.append) == []
    assert [line.partition(": nothing of this length is touched")[0] for line in said] == [f"{INDEX}/packing/8.json"]


def test_the_plan_of_a_stream_without_a_slice_is_sound(mill: Mill) -> None:
    """Its source has no raw data yet. Nobody but its recipe knows how its rows are packed."""
    mix = mix_of("texts", "talks", sequence_length=8, **PACKED)
    make_caches(mill, mix_of("texts", **PACKED), texts=[8] * 3)
    close(mill, mix)
    assert plans(mill) == [
        "8.json",
        "talks-train-8.json",
        "talks-train-8.npy",
        "texts-train-8.json",
        "texts-train-8.npy",
    ]
    assert findings(mill) == []


def test_plans_stay_as_long_as_a_trainer_can_read_one_of_their_length(mill: Mill) -> None:
    """The texts grow and the talks do not, so a training on the talks may go on with its plan."""
    mix = mix_of("texts", "talks", **PACKED)
    make_caches(mill, mix, texts=[8] * 3, talks=[5] * 3)
    close(mill, mix)
    plan_cache(mill.store, mix, BYTES, 16, mill.said.append)
    make_caches(mill, mix, texts=[8] * 4)
    close(mill, mix)
    assert removed(mill) == []
    make_caches(mill, mix, talks=[5] * 4)
    close(mill, mix)
    assert len(removed(mill)) == 5
