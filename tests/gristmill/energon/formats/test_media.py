import pytest

from gristmill.energon.formats.media import MediaFilter, MediaKind, kind_by_ending, misnamed_format, read_media_filter
from gristmill.energon.formats.media import MediaRow as Row
from gristmill.errors import RecipeError


@pytest.mark.parametrize(
    ("by_glob", "by_header", "by_extension"),
    [(None, False, False), ("*.jpg", True, False), (None, True, True), ("*.jpg", True, True)],
)
def test_media_are_selected_in_exactly_one_way(by_glob: str | None, *, by_header: bool, by_extension: bool) -> None:
    ways = sum((by_glob is not None, by_header, by_extension))
    with pytest.raises(RecipeError, match=rf"selected in {ways} ways: give exactly one of --media-by-extension"):
        read_media_filter(by_glob, by_header=by_header, by_extension=by_extension)


def test_each_way_alone_gives_a_filter_and_an_empty_pattern_is_refused() -> None:
    assert read_media_filter(None, by_header=False, by_extension=True) == MediaFilter("EXTENSION")
    assert read_media_filter(None, by_header=True, by_extension=False) == MediaFilter("HEADER")
    assert read_media_filter("a*, *.png", by_header=False, by_extension=False) == MediaFilter("GLOB", "a*,*.png")
    for empty in ("", "*.jpg,,*.png", " "):
        with pytest.raises(RecipeError, match="a pattern is empty"):
            read_media_filter(empty, by_header=False, by_extension=False)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.jpg", "image"),
        ("d.1/A.JPEG", "image"),
        ("a.seg.webp", "image"),
        ("a.mp3", "av"),
        ("a.json", None),
        ("jpg", None),
        ("d.jpg/a", None),
        ("", None),
    ],
)
def test_the_last_ending_of_a_name_says_the_kind(name: str, kind: MediaKind | None) -> None:
    assert kind_by_ending(name) == kind
    assert MediaFilter("EXTENSION").may_be_media(name) == (kind is not None)


def test_a_pattern_is_matched_with_the_path_or_the_name_whatever_the_case() -> None:
    chosen = MediaFilter("GLOB", "cats/*.jpg,tom*")
    names = ["cats/a.JPG", "cats/deep/a.jpg", "dogs/tom.wav", "dogs/a.jpg"]
    assert [chosen.may_be_media(name) for name in names] == [True, True, True, False]


@pytest.mark.parametrize(
    ("name", "kind", "found"),
    [
        ("a.jpg", "JPEG", ""),
        ("a.jpeg", "MPO", ""),
        ("a.tif", "TIFF", ""),
        ("a.jp2", "JPEG2000", ""),
        ("a.png", "PNG", ""),
        ("a.jpg", "PNG", "PNG"),
        ("a.gif", "WEBP", "WEBP"),
        ("a.bin", "PNG", ""),
    ],
)
def test_an_image_under_the_name_of_another_format_is_told(name: str, kind: str, found: str) -> None:
    assert misnamed_format(Row(name, "image", f'{{"width":1,"height":1,"format":"{kind}","mode":"L"}}')) == found


def test_sound_is_never_misnamed() -> None:
    assert misnamed_format(Row("a.png", "av", '{"audio_duration":1.0}')) == ""
