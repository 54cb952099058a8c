import pytest

from assets.support.keys import address_of, key_of, plain_name, snapshots_of


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("sources/stack-v2/v0/documents", "sources__stack_v2__v0__documents"),
        ("mixes/a.b--c/index", "mixes__a_b_c__index"),
        ("a-/b", "a__b"),
    ],
)
def test_an_address_is_a_name_that_dagster_takes(address: str, name: str) -> None:
    assert plain_name(address) == name


def test_a_key_is_its_address_split_at_its_slashes() -> None:
    key = key_of("sources/letters/v0/documents")
    assert key.path == ["sources", "letters", "v0", "documents"]
    assert address_of(key) == "sources/letters/v0/documents"


def test_all_that_is_made_of_a_source_has_one_set_of_partitions() -> None:
    assert snapshots_of("letters") is snapshots_of("letters")
    assert snapshots_of("letters").name == "snapshots/letters"
