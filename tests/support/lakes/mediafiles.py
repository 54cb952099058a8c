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
