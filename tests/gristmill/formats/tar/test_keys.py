import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import DataError
from gristmill.formats.tar.keys import (
    check_media_name,
    check_media_path,
    document_id,
    is_part,
    safe_key,
    split_name,
    unusable_characters,
)


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("a.txt", ("a", "txt")),
        ("sub.dir/a.b.c.json", ("sub.dir/a", "b.c.json")),
        ("./x.txt", ("./x", "txt")),
        (".hidden.json", None),
        ("dir/.hidden.json", ("dir/", "hidden.json")),
        ("__meta__.json", ("__meta__", "json")),
        ("__meta__/a.json", None),
        ("__meta__", None),
        ("x/__meta__/a.json", ("x/__meta__/a", "json")),
        ("a.", ("a", "")),
        ("README", None),
        ("a.B", ("a", "B")),
        ("", None),
    ],
)
def test_a_name_is_split_at_the_first_dot_of_its_last_part(name: str, pair: tuple[str, str] | None) -> None:
    assert split_name(name) == pair


@given(st.text(min_size=1, max_size=80))
def test_a_key_gives_its_id_back_and_its_name_gives_the_key(text: str) -> None:
    try:
        key = safe_key(text)
    except DataError:
        assert any("\ud800" <= letter <= "\udfff" for letter in text)
        return
    assert document_id(key) == text
    assert split_name(f"{key}.txt") == (key, "txt")
    assert not unusable_characters(key)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "empty"), ("\ud800", "not valid Unicode"), ("." * 301, "903 bytes, at most 900")],
)
def test_ids_without_a_key_are_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        safe_key(text)


@pytest.mark.parametrize("key", ["a.b", "a=2f", "=41", "=", "=FF", "__a", "ü", ""])
def test_keys_that_were_not_made_of_an_id_are_refused(key: str) -> None:
    with pytest.raises(DataError, match="not a sample key"):
        document_id(key)


@pytest.mark.parametrize("part", ["", ".txt", "txt.", "a..b", "a/b", "a b", "ü", "t\n", "__key__"])
def test_parts_with_other_characters_are_refused(part: str) -> None:
    assert not is_part(part)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/a.jpg", "absolute"),
        ("file:///a.jpg", "absolute"),
        ("../a.jpg", "leaves its folder"),
        ("a/../b.jpg", "leaves its folder"),
        ("./a.jpg", "leaves its folder"),
        ("a//b.jpg", "leaves its folder"),
        ("a{1}.jpg", "cannot use"),
        ("a\\b.jpg", "cannot use"),
        ("50%.jpg", "cannot use"),
        ("a\n.jpg", "cannot use"),
        ("photo", "no name before"),
        ("a/.jpg", "no name before"),
        ("a.", "no name before"),
        ("__meta__/a.jpg", "no name before"),
        ("", "leaves its folder"),
    ],
)
def test_media_names_that_the_loader_cannot_use_are_refused(name: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_media_name(name)


@pytest.mark.parametrize("name", ["5f/1e07", "a.", "a/.jpg", "__meta__/a.jpg"])
def test_a_file_in_a_folder_needs_no_ending(name: str) -> None:
    check_media_path(name)
    with pytest.raises(DataError, match="absolute"):
        check_media_path(f"/{name}")


def test_media_names_may_have_folders_and_other_letters() -> None:
    assert check_media_name("Fotos/Bär 1.seg.PNG") == ("Fotos/Bär 1", "seg.PNG")
