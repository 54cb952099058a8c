"""Small media files: images by Pillow, sound by Python's own `wave`, videos by PyAV."""

import io
import wave

import av
import numpy as np
from PIL import Image


def image(kind: str = "PNG", width: int = 8, height: int = 6, mode: str = "RGB") -> bytes:
    """An image of one colour."""
    out = io.BytesIO()
    Image.new(mode, (width, height)).save(out, kind)
    return out.getvalue()


def sound(seconds: float = 0.5, rate: int = 8000) -> bytes:
    """A WAV file of silence with one channel."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(bytes(2 * int(seconds * rate)))
    return out.getvalue()


def encoded(kind: str = "mp3", samples: int = 4096, rate: int = 16_000) -> bytes:
    """A tone with one channel; `kind` is mp3, flac, ogg (Opus at 48,000), mp4 or adts (AAC)."""
    codec = {"mp3": "libmp3lame", "flac": "flac", "ogg": "libopus"}.get(kind, "aac")
    rate = 48_000 if kind == "ogg" else rate
    out = io.BytesIO()
    with av.open(out, "w", format=kind) as container:
        stream = container.add_stream(codec, rate=rate)
        stream.layout = "mono"
        form = "fltp" if codec == "aac" else "s16p" if codec == "libmp3lame" else "s16"
        tone = (np.sin(np.arange(samples) / 7) * 8000).astype(np.int16).reshape(1, -1)
        values = (tone / 32768).astype(np.float32) if form == "fltp" else tone
        size = stream.codec_context.frame_size or 256
        for start in range(0, samples, size):
            frame = av.AudioFrame.from_ndarray(values[:, start : start + size].copy(), format=form, layout="mono")
            frame.rate, frame.pts = rate, start
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return out.getvalue()


def video(kind: str = "mp4", frames: int = 5, rate: int = 10, width: int = 32, height: int = 16) -> bytes:
    """A black video without sound."""
    out = io.BytesIO()
    with av.open(out, "w", format=kind) as container:
        stream = container.add_stream("mpeg4", rate=rate)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        black = av.VideoFrame.from_ndarray(np.zeros((height, width, 3), np.uint8))
        for _ in range(frames):
            container.mux(stream.encode(black))
        container.mux(stream.encode())
    return out.getvalue()
