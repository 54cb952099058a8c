"""Sizes and durations of media, read by Pillow, PyAV and filetype: the extra `energon`.

The values are those of NVIDIA/Megatron-Energon 7.4.1. What cannot be decoded is an error with its reason.
"""

from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from gristmill.energon.formats.media_sizes import missing_media_bytes
from gristmill.errors import DataError
from gristmill.extras import extra

if TYPE_CHECKING:
    from av.container import InputContainer

Facts = dict[str, int | float | str | None]
"""Fields of one file; None for those that are not known."""

_DEMUXERS: Final = "aac,avi,flac,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp3,ogg,wav"
"""The formats that are tried. Others, such as playlists, name files and addresses that would then be opened."""
_PROGRAM: Final = "EPS"
"""Encapsulated PostScript, by Pillow's name, which Pillow would let Ghostscript run."""


def mime_type(head: bytes) -> str:
    """The media type that the first bytes of a file say, such as `image/png`; empty if they say none.

    Raises:
        RecipeError: the extra `energon` is not installed.
    """
    with extra():
        import filetype  # noqa: PLC0415 - an extra
    found = filetype.guess(head) if head else None
    return str(found.mime) if found else ""


def image_facts(data: bytes) -> Facts:
    """Facts of an image, which is decoded as a whole.

    Returns:
        Width and height in pixels, format and mode.

    Raises:
        DataError: it is no image, is truncated or damaged, has more pixels than Pillow takes, or is PostScript.
        RecipeError: the extra `energon` is not installed.
    """
    with extra():
        from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - an extra
    try:
        with Image.open(BytesIO(data)) as image:
            _refuse_executable(image.format)
            image.load()
            return {
                "width": image.width,
                "height": image.height,
                "format": image.format or "UNKNOWN",
                "mode": image.mode or "UNKNOWN",
            }
    except DataError:
        raise
    except UnidentifiedImageError as error:
        raise DataError("it is no image of a known format") from error
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, ValueError, struct.error and more
        raise DataError(f"this image cannot be decoded: {error}") from error


def _refuse_executable(image_format: str | None) -> None:
    if image_format == _PROGRAM:
        raise DataError("it is PostScript, which is a program, and is not run: make it PNG or JPEG")


def read_video_or_audio(data: bytes) -> tuple[Facts, str]:
    """The facts of a video or of sound, and the format of the file, such as `wav` or `matroska`.

    Sound is decoded as a whole, to count its samples; of a video only the first frame.

    Returns:
        Durations in seconds, numbers of frames and samples, sizes and rates of the first video and audio stream; and
        the format.

    Raises:
        DataError: it is no video or sound, or is truncated or damaged.
        RecipeError: the extra `energon` is not installed.
    """
    with extra():
        import av  # noqa: PLC0415 - an extra
    if missing := missing_media_bytes(data):
        raise DataError(f"it is truncated: by its own headers {missing:,} bytes are missing at the end")
    try:
        with av.open(BytesIO(data), options={"format_whitelist": _DEMUXERS}) as container:
            facts = {**_video_facts(container), **_audio_facts(container)}
            form = container.format.name.partition(",")[0]
    except DataError:
        raise
    except Exception as error:  # PyAV raises classes of its own, and those of Python
        raise DataError(f"this video or sound cannot be decoded: {error}") from error
    if not facts:
        raise DataError("it has neither a video nor an audio stream")
    return facts, form


def _video_facts(container: "InputContainer") -> Facts:
    if not container.streams.video:
        return {}
    stream = container.streams.video[0]
    frames, last = 0, None
    for packet in container.demux(video=0):
        if packet.pts is not None:
            frames, last = frames + 1, packet
    if frames < stream.frames:
        raise DataError(f"its header promises {stream.frames} frames, but it has {frames}: it is truncated")
    length = stream.duration if stream.duration is not None else _packet_end(last)
    duration = _end_in_seconds(length, stream)
    rate = stream.average_rate
    container.seek(0)
    shown = next(container.decode(video=0), stream)
    return {
        "video_duration": duration,
        "video_num_frames": frames,
        "video_fps": float(rate) if rate is not None else frames / duration if duration else None,
        "video_width": shown.width,
        "video_height": shown.height,
    }


def _audio_facts(container: "InputContainer") -> Facts:
    if not container.streams.audio:
        return {}
    stream = container.streams.audio[0]
    samples, last = 0, None
    container.seek(0)
    for frame in container.decode(audio=0):
        samples += frame.samples
        last = frame if frame.pts is not None else last
    if container.format.name == "flac" and samples < (stream.duration or 0):
        raise DataError(f"its header promises {stream.duration:,} samples, but it has {samples:,}: it is truncated")
    end = _packet_end(last)
    return {
        "audio_duration": _end_in_seconds(end if end is not None else stream.duration, stream),
        "audio_channels": stream.channels,
        "audio_sample_rate": stream.sample_rate,
        "audio_num_samples": samples,
    }


def _packet_end(last: Any) -> int | None:
    """Where a packet or a frame ends, in units of its stream."""
    return None if last is None or last.duration is None else int(last.pts + last.duration)


def _end_in_seconds(end: int | None, stream: Any) -> float | None:
    """An end in units of a stream, in seconds from the stream's start, as the real tool computes it."""
    if end is None:
        return None
    length = end - (stream.start_time or 0)
    return float(length if stream.time_base is None else length * float(stream.time_base))
