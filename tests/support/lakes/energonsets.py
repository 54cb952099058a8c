"""Small Energon datasets written by our codecs: one of each sample type, whose every element is known."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from mediafiles import video
from PIL import Image

from gristmill.energon.formats.dataset_yaml import DATASET_YAML, crude_dataset, typed_dataset
from gristmill.energon.formats.info import INFO, META_FOLDER, info_bytes
from gristmill.energon.formats.sample_types import SAMPLE_TYPES
from gristmill.energon.formats.split import SPLIT_YAML, split_bytes
from gristmill.energon.formats.sqlite_index import SqliteIndexWriter, index_digest, index_uuid
from gristmill.formats.tar.samples import Samples, index_bytes
from gristmill.formats.tar.writer import TarWriter

Parts = Mapping[str, bytes]
Color = tuple[int, int, int]
RED, GREEN, BLUE = (255, 0, 0), (0, 128, 0), (0, 0, 255)
VIDEO = video(frames=4)


def picture(*colors: Color) -> bytes:
    """A PNG of one row: a pixel of each color."""
    image = Image.new("RGB", (len(colors), 1))
    image.putdata(colors)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def tensor(*colors: Color) -> dict[str, Any]:
    """The same as the loader gives it: bytes by channel, row and column."""
    return {"tensor": "uint8", "values": [[[color[channel] for color in colors]] for channel in range(3)]}


def array(values: Sequence[Sequence[float]]) -> bytes:
    """A `.npy` file of numbers in single precision."""
    out = io.BytesIO()
    np.save(out, np.array(values, np.float32))
    return out.getvalue()


def told(**values: object) -> bytes:
    """A part of JSON."""
    return json.dumps(values).encode()


@dataclass(frozen=True)
class SmallSet:
    """A dataset of one sample type.

    Attributes:
        kind: the name of the type; empty: crude.
        field_map: of the type; empty: crude, and a cooker makes the samples.
        parts: of each sample, by its key.
        loaded: what the loader is to give for each sample, without key and subflavors.
        cooker: of the test's client, for crude samples.
        subflavors: that every sample carries.
    """

    kind: str
    field_map: Mapping[str, str]
    parts: Mapping[str, Parts]
    loaded: Mapping[str, Mapping[str, Any]]
    cooker: str = ""
    subflavors: Mapping[str, Any] = field(default_factory=lambda: {"version": "12e4"})

    def samples(self) -> list[dict[str, Any]]:
        """What the loader is to give, in the order of the files."""
        return [
            {"__key__": key, "__subflavors__": dict(self.subflavors), **self.loaded[key]} for key in sorted(self.parts)
        ]

    def dataset_yaml(self) -> bytes:
        """Its declaration."""
        if not self.field_map:
            return crude_dataset(self.subflavors)
        module = SAMPLE_TYPES[self.kind].module
        return typed_dataset(self.kind, self.field_map, module=module, subflavors=self.subflavors)

    def write(self, root: Path) -> None:
        """Writes it with a shard for every two samples; the last shard is the split `val`, the others `train`."""
        keys = sorted(self.parts)
        shards = {
            f"shards/{n:03}.tar": {key: self.parts[key] for key in keys[2 * n : 2 * n + 2]}
            for n in range((len(keys) + 1) // 2)
        }
        *train, last = shards
        write_dataset(root, shards, {"train": train, "val": [last]}, self.dataset_yaml())


def write_dataset(
    root: Path, shards: Mapping[str, Mapping[str, Parts]], splits: Mapping[str, Sequence[str]], declared: bytes
) -> None:
    """Writes a prepared dataset: tars, their indexes, and `.nv-meta` with `.info.json` last."""
    meta = root / META_FOLDER
    meta.mkdir(parents=True)
    index = SqliteIndexWriter(meta / "index.sqlite", list(shards))
    for number, (name, samples) in enumerate(shards.items()):
        path = root / name
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            writer = TarWriter(file.write)
            for key, parts in samples.items():
                writer.add(key, parts.items())
            writer.close()
        taken = writer.take_index()
        path.with_suffix(".tar.idx").write_bytes(index_bytes(taken.starts))
        index.add(number, taken)
    index.finish()
    index.close()
    (meta / "index.uuid").write_text(index_uuid(index_digest(meta / "index.sqlite")))
    (meta / DATASET_YAML).write_bytes(declared)
    (meta / SPLIT_YAML).write_bytes(split_bytes(splits))
    (meta / INFO).write_bytes(info_bytes({name: len(samples) for name, samples in shards.items()}))


def _colors(n: int) -> tuple[Color, Color]:
    return (n, 2 * n, 3 * n), (255 - n, 0, n)


def _set(
    kind: str,
    field_map: Mapping[str, str],
    files: Mapping[str, Any],
    loaded: Mapping[str, Any],
    *,
    cooker: str = "",
) -> SmallSet:
    """Five samples that differ in their colors and in their number: each value is a function of the number."""

    def of(values: Mapping[str, Any], n: int) -> dict[str, Any]:
        return {name: value(n) for name, value in values.items()}

    keys = {f"sample{n}": n for n in range(1, 6)}
    parts = {key: of(files, n) for key, n in keys.items()}
    return SmallSet(kind, field_map, parts, {key: of(loaded, n) for key, n in keys.items()}, cooker)


def _picture(n: int) -> bytes:
    return picture(*_colors(n))


def _tensor(n: int) -> dict[str, Any]:
    return tensor(*_colors(n))


def _boxes(n: int) -> list[list[float]]:
    return [[n, 0, 10, 2.5], [n, 3, 10, 2.5]]


def _none(_: int) -> None:
    return None


SETS = (
    _set(
        "CaptioningSample",
        {"image": "jpg,png", "caption": "json[captions][0]"},
        {"png": _picture, "json": lambda n: told(captions=[f"Picture «{n}»", "other"])},
        {"image": _tensor, "caption": lambda n: f"Picture «{n}»"},
    ),
    _set("ImageSample", {"image": "png"}, {"png": _picture}, {"image": _tensor}),
    _set(
        "ImageClassificationSample",
        {"image": "png", "label": "cls", "label_name": "name.txt"},
        {"png": _picture, "cls": lambda n: str(n).encode(), "name.txt": lambda n: f"class {n}".encode()},
        {"image": _tensor, "label": lambda n: n, "label_name": lambda n: f"class {n}"},
    ),
    _set(
        "MultiChoiceVQASample",
        {"image": "png", "context": "json[q]", "choices": "json[a]", "correct_choice_idx": "json[right]"},
        {"png": _picture, "json": lambda n: told(q=f"Which {n}?", a=["a", str(n)], right=n % 2)},
        {
            "image": _tensor,
            "context": lambda n: f"Which {n}?",
            "choices": lambda n: ["a", str(n)],
            "correct_choice_idx": lambda n: n % 2,
        },
    ),
    _set(
        "OCRSample",
        {
            "image": "png",
            "text": "txt",
            "block_classes": "json[blocks]",
            "lines_boxes": "lines.npy",
            "lines_text": "json[lines]",
            "words_boxes": "json[boxes]",
            "words_text": "json[words]",
        },
        {
            "png": _picture,
            "txt": lambda n: f"line {n}\nend".encode(),
            "lines.npy": lambda n: array(_boxes(n)),
            "json": lambda n: told(
                blocks=["title"], lines=[f"line {n}", "end"], boxes=_boxes(n), words=["line", "end"]
            ),
        },
        {
            "image": _tensor,
            "text": lambda n: f"line {n}\nend",
            "block_boxes": _none,
            "block_classes": lambda _: ["title"],
            "block_text": _none,
            "lines_boxes": lambda n: {"array": "float32", "values": _boxes(n)},
            "lines_text": lambda n: [f"line {n}", "end"],
            "words_boxes": _boxes,
            "words_text": lambda _: ["line", "end"],
            "chars_boxes": _none,
            "chars_text": _none,
        },
    ),
    _set(
        "TextSample",
        {"text": "txt"},
        {"txt": lambda n: f"Text {n}\u2028é".encode()},
        {"text": lambda n: f"Text {n}\u2028é"},
    ),
    _set(
        "VidQASample",
        {"video": "mp4", "context": "json[q]", "answers": "json[a]"},
        {"mp4": lambda _: VIDEO, "json": lambda n: told(q=f"What {n}?", a=["nothing"])},
        {
            "video": lambda _: {"frames": [[4, 3, 16, 32]]},
            "context": lambda n: f"What {n}?",
            "answers": lambda _: ["nothing"],
            "answer_weights": _none,
        },
    ),
    _set(
        "VQASample",
        {"image": "png", "context": "json[q]", "answers": "json[a]", "answer_weights": "json[w]"},
        {"png": _picture, "json": lambda n: told(q=f"What {n}?", a=["a", "b"], w=[0.5, n])},
        {
            "image": _tensor,
            "context": lambda n: f"What {n}?",
            "answers": lambda _: ["a", "b"],
            "answer_weights": lambda n: [0.5, n],
        },
    ),
    _set(
        "VQAOCRSample",
        {"image": "png", "context": "json[q]", "text": "txt", "words_text": "json[words]"},
        {"png": _picture, "txt": lambda n: str(n).encode(), "json": lambda n: told(q="Which number?", words=[str(n)])},
        {
            "image": _tensor,
            "context": lambda _: "Which number?",
            "text": str,
            "answers": _none,
            "answer_weights": _none,
            "words_boxes": _none,
            "words_text": lambda n: [str(n)],
        },
    ),
    _set(
        "InterleavedSample",
        {},
        {"0.png": _picture, "1.png": lambda n: picture(RED, _colors(n)[0]),
         "json": lambda n: told(sequence=["Look:", {"image": "0.png"}, f"and {n}", {"image": "1.png"}])},
        {"sequence": lambda n: ["Look:", _tensor(n), f"and {n}", tensor(RED, _colors(n)[0])]},
        cooker="sequence",
    ),
    _set(
        "SimilarityInterleavedSample",
        {},
        {"0.png": _picture, "1.png": lambda _: picture(GREEN),
         "json": lambda n: told(images=["0.png", "1.png"], texts=[f"a {n}", "b"], similarity_matrix=[[0.5, 0], [0, n]],
                                matched_text_indices=[0, 1])},
        {
            "images": lambda n: [_tensor(n), tensor(GREEN)],
            "texts": lambda n: [f"a {n}", "b"],
            "audio": _none,
            "video": _none,
            "similarity_matrix": lambda n: {"tensor": "float32", "values": [[0.5, 0], [0, n]]},
            "matched_text_indices": lambda _: [0, 1],
        },
        cooker="similarity",
    ),
    _set(
        "",
        {},
        {"png": _picture, "detail.json": lambda n: told(n=n), "bin": lambda n: bytes([n, 0, 255])},
        {"parts": lambda n: {"png": _tensor(n), "detail.json": {"n": n}, "bin": {"bytes": bytes([n, 0, 255]).hex()}},
         "media": lambda _: []},
        cooker="everything",
    ),
)  # fmt: skip
"""A dataset of each sample type, and one of crude samples."""


def joined(batches: Iterable[Samples]) -> Samples:
    """The batches of one tar as one.

    Args:
        batches: at least one; they follow each other.
    """
    parts = list(batches)
    starts = [batch.starts[:-1] for batch in parts] + [parts[-1].starts[-1:]]
    return Samples(
        first=parts[0].first,
        keys=[key for batch in parts for key in batch.keys],
        starts=np.concatenate(starts),
        part_samples=np.concatenate([batch.part_samples for batch in parts]),
        part_names=[name for batch in parts for name in batch.part_names],
        part_offsets=np.concatenate([batch.part_offsets for batch in parts]),
        part_sizes=np.concatenate([batch.part_sizes for batch in parts]),
    )
