"""The values are those that the real tool gave for the same files: tests/real_energon compares them again."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from gristmill.energon.formats.media import HEAD, MediaFilter, MediaKind, media_row
from gristmill.energon.formats.media_facts import image_facts, read_video_or_audio
from gristmill.errors import DataError

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("PIL", "av", "filetype"))), reason="the extra media: Pillow, PyAV and filetype"
)


@pytest.mark.parametrize(
    ("kind", "mode"), [("PNG", "RGB"), ("JPEG", "RGB"), ("WEBP", "RGB"), ("TIFF", "L"), ("BMP", "RGB"), ("GIF", "P")]
)
def test_an_image_has_width_height_format_and_mode(kind: str, mode: str) -> None:
    from mediafiles import image

    assert image_facts(image(kind, 8, 6, mode)) == {"width": 8, "height": 6, "format": kind, "mode": mode}


def test_half_a_second_of_sound() -> None:
    from mediafiles import sound

    row = media_row("a.wav", "av", sound(0.5, 8000))
    assert row.metadata_json == (
        '{"audio_duration":0.5,"audio_channels":1,"audio_sample_rate":8000,"audio_num_samples":4000}'
    )


@pytest.mark.parametrize("kind", ["mp4", "matroska", "avi", "mov"])
def test_five_frames_at_ten_a_second(kind: str) -> None:
    from mediafiles import video

    row = media_row("a.mp4", "av", video(kind, frames=5, rate=10, width=32, height=16))
    assert json.loads(row.metadata_json) == {
        "video_duration": 0.5,
        "video_num_frames": 5,
        "video_fps": 10.0,
        "video_width": 32,
        "video_height": 16,
    }


@pytest.mark.parametrize("name", ["a.bin", "a.wav", "a.json"])
def test_the_first_bytes_tell_an_image_whatever_its_name(name: str) -> None:
    from mediafiles import image

    assert MediaFilter("HEADER").kind(name, image()[:HEAD]) == "image"


def test_the_first_bytes_tell_sound_and_where_they_tell_nothing_the_name_does() -> None:
    from mediafiles import sound

    chosen = MediaFilter("HEADER")
    assert [chosen.kind("a", sound()[:HEAD]), chosen.kind("a.jpg", b"text"), chosen.kind("a", b"")] == [
        "av",
        "image",
        None,
    ]
    assert MediaFilter("GLOB", "*.bin").kind("a.bin", sound()[:HEAD]) == "av"


def test_a_file_that_is_no_image_and_a_truncated_one_are_refused_with_the_reason() -> None:
    from mediafiles import image

    with pytest.raises(DataError, match="it is no image of a known format"):
        image_facts(b"text")
    with pytest.raises(DataError, match="cannot be decoded"):
        image_facts(image("PNG", 200, 200)[:100])


def test_a_truncated_video_and_text_are_refused_with_the_reason() -> None:
    from mediafiles import video

    for data, words in ((video("mp4")[:-300], "truncated"), (b"text", "be decoded"), (b"", "be decoded")):
        with pytest.raises(DataError, match=words):
            read_video_or_audio(data)


@pytest.mark.parametrize("kind", ["wav", "flac", "mp3", "ogg", "mp4", "adts"])
def test_sound_that_is_cut_anywhere_is_refused(kind: str) -> None:
    """Each whole packet of AAC without a container is a file: it says nothing of what follows."""
    from mediafiles import encoded, sound

    data = sound() if kind == "wav" else encoded(kind)
    whole, _ = read_video_or_audio(data)
    assert whole["audio_num_samples"]
    for cut in (1, 2, 64, len(data) // 3, len(data) // 2):
        with pytest.raises(DataError, match=r"truncated|cannot be decoded"):
            read_video_or_audio(data[:-cut])


@pytest.mark.parametrize("kind", ["mp4", "mov", "matroska", "webm", "avi"])
def test_a_video_that_is_cut_anywhere_is_refused(kind: str) -> None:
    from mediafiles import video

    data = video("matroska" if kind == "webm" else kind, frames=20)
    assert read_video_or_audio(data)[0]["video_num_frames"] == 20
    for cut in (1, 2, 64, len(data) // 3, len(data) // 2):
        with pytest.raises(DataError, match=r"truncated|cannot be decoded|neither"):
            read_video_or_audio(data[:-cut])


def test_flac_that_ends_after_a_whole_frame_is_told_by_its_number_of_samples() -> None:
    from mediafiles import encoded

    data = encoded("flac")
    frame = data.rindex(b"\xff\xf8")  # where the last frame begins
    with pytest.raises(DataError, match="its header promises 4,096 samples, but it has 3,456: it is truncated"):
        read_video_or_audio(data[:frame])


def test_a_playlist_opens_no_other_file(tmp_path: Path) -> None:
    from mediafiles import sound

    other = tmp_path / "other.wav"
    other.write_bytes(sound())
    playlist = f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{other}\n#EXT-X-ENDLIST\n".encode()
    kind: MediaKind = "av"
    with pytest.raises(DataError, match="cannot be decoded"):
        media_row("a.mp4", kind, playlist)


def test_postscript_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mediafiles import image
    from PIL import EpsImagePlugin

    program = tmp_path / "gs"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)  # where Pillow remembers what it found
    with pytest.raises(DataError, match="PostScript, which is a program, and is not run: make it PNG or JPEG"):
        image_facts(image("EPS"))
    assert not (tmp_path / "ran").exists()
