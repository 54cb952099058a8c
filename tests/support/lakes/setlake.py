"""A lake whose documents have the values of every sample type, and one export to Energon for each type.

The datasets of energonsets are taken apart: texts, numbers and JSON become metadata of the documents, and all other
parts become media files. The exports put the samples together again.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from energonsets import SETS, SmallSet
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.formats.tar.keys import safe_key
from gristmill.lake.address import export_index
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix, Stream
from gristmill.stages.export.index import index_export
from gristmill.stages.export.release import read_release
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.step import stream_step

MIX = Mix(name="blend", streams=(Stream(source="pages", version="v0"),), validation=0.3)
LINES = {"lines": None, "joined": 1 << 20}
"""The exports of whole documents as JSON lines: the most bytes of a file in which the parts are joined."""
WORDS = {"version": "12e4", "hash": "1e5", "day": "007", "none": "null", "float": ".5"}
"""Subflavors that a parser of YAML would take for other things than strings, if they were not in quotes."""
_TEXTS = re.compile(r"(?:.*\.)?(?:json|txt|cls)")
_LISTED = re.compile(r"\d+\.(.+)")


def name_of(small: SmallSet) -> str:
    """The name of its export."""
    return small.kind.lower() or "crude"


def document_id(key: str) -> str:
    """The id of the document of a sample: nothing that could name a member as it is."""
    return f"Ünì/{key}.html"


def documents() -> list[dict[str, Any]]:
    """A document for each number, with the values of all types."""
    return [
        {
            "id": document_id(key),
            "text": f"Text of {key}",
            "source": "pages",
            "added": "2024-01-01T00:00:00Z",
            "metadata": {name_of(small): _values(small, key) for small in SETS},
        }
        for key in sorted(SETS[0].parts)
    ]


def _values(small: SmallSet, key: str) -> dict[str, Any]:
    """The metadata of one sample: the value of each part, or the name of its file."""
    values: dict[str, Any] = {}
    for part, content in small.parts[key].items():
        listed = _LISTED.fullmatch(part)
        if listed:
            values.setdefault(_field(listed[1]), []).append(_file(small, key, part))
        elif not _TEXTS.fullmatch(part):
            values[_field(part)] = _file(small, key, part)
        else:
            values[_field(part)] = json.loads(content) if part.endswith("json") else content.decode()
    return values


def _field(part: str) -> str:
    return part.replace(".", "_")


def _file(small: SmallSet, key: str, part: str) -> str:
    return f"{name_of(small)}/{key}.{part}"


def export_of(small: SmallSet) -> Export:
    """The recipe that makes samples of one type."""
    names = {_LISTED.sub(r"\1", part) for parts in small.parts.values() for part in parts}
    paths = {part: f"metadata.{name_of(small)}.{_field(part)}" for part in sorted(names)}
    declared = EnergonWebdataset(
        parts={part: path for part, path in paths.items() if _TEXTS.fullmatch(part)},
        files={part: path for part, path in paths.items() if not _TEXTS.fullmatch(part)},
        root="media",
        key="id",
        sample_type=small.kind if small.field_map else "",
        field_map=small.field_map,
        subflavors=WORDS,
        shard_samples=2,
    )
    return Export(name=name_of(small), mixes=(MIX.name,), format=declared)


def make(mill: Mill) -> None:
    """From raw documents and media to all exports."""
    rows = documents()
    mill.raw("a.jsonl.gz", rows[:3])
    mill.raw("b.jsonl.gz", rows[3:])
    for small in SETS:
        for key, parts in small.parts.items():
            for part, content in parts.items():
                if not _TEXTS.fullmatch(part):
                    mill.store.put(f"media/{_file(small, key, part)}", content)
    mill.convert()
    mill.make(stream_step(MIX, "pages", SNAPSHOT, SHELVES))
    exports = [export_of(small) for small in SETS]
    for name, size in LINES.items():
        exports.append(Export(name=name, mixes=(MIX.name,), format=EnergonJsonl(subflavors=WORDS, file_bytes=size)))
    for export in exports:
        mill.make(ExportStep(MIX, "pages", export, SNAPSHOT, SHELVES))
        index_export(mill.store, MIX, export, {"pages": mill.source()}, {"pages": [SNAPSHOT]})


def release_folder(mill: Mill, name: str) -> str:
    """The folder of an export's release."""
    release = read_release(mill.store, export_index(MIX.name, name))
    assert release is not None
    return release.folder.rstrip("/")


def expected(small: SmallSet) -> dict[str, dict[str, Any]]:
    """What the loader is to give for each sample, by its key."""
    words = {"stream": "pages", **WORDS}
    samples = {safe_key(document_id(key)): loaded for key, loaded in small.loaded.items()}
    return {key: {"__key__": key, "__subflavors__": words, **loaded} for key, loaded in samples.items()}


def files(small: SmallSet) -> Mapping[str, bytes]:
    """The content of each member of the tars, by the name that finds it in the index."""
    return {
        f"{safe_key(document_id(key))}.{part}": content
        for key, parts in small.parts.items()
        for part, content in parts.items()
    }
