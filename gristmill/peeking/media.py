"""Sniffers of samples with media: WebDatasets, and JSON lines whose fields name media files."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from gristmill.formats.tar.keys import split_name
from gristmill.peeking.archives import describe_members
from gristmill.peeking.draft import Call
from gristmill.peeking.head import Head
from gristmill.peeking.rows import fields_with_kinds, guess_row_mapping, json_rows
from gristmill.peeking.sniffers import Facts

_ALIKE = 0.8
_TEXT_PARTS = ("txt", "text", "caption", "json")
"""Parts of samples that may have the text, the most likely first."""
_MEDIA = re.compile(
    r"(?!/|[a-z]+:)[^\n:]{1,400}\.(?:bmp|gif|jp2|jpe?g|png|tiff?|webp|aac|avi|flac|m4a|mkv|mov|mp3|mp4|ogg|wav|webm)",
    re.IGNORECASE,
)


def sniff_webdataset(head: Head) -> Facts | None:
    """A WebDataset: neighbours with one key are a sample; most have the same parts, and one part is text."""
    pairs = [split_name(member.name.removeprefix("./")) for member in head.members]
    parts: dict[str, list[str]] = {}
    for pair in pairs:
        if pair is not None:
            parts.setdefault(pair[0], []).append(pair[1])
    alike = Counter(tuple(sorted(each)) for each in parts.values())
    [(usual, number)] = alike.most_common(1) or [((), 0)]
    texts = [part for part in _TEXT_PARTS if part in usual]
    fits = len(usual) > 1 and texts and len(set(usual)) == len(usual) and number + 1 >= _ALIKE * len(parts)
    if head.archive != ".tar" or not fits or sum(map(len, parts.values())) < _ALIKE * len(pairs):
        return None
    place, notes = _sample_text_place(head, texts)
    rest = [part for part in usual if part not in {texts[0], "json"}]
    told = (f"samples of the parts {', '.join(usual)}", *([f"media by name: {', '.join(rest)}"] if rest else []))
    return Facts({} if place in {"txt", "json[text]"} else {"text": place}, (*told, *describe_members(head)), notes)


def _sample_text_place(head: Head, texts: list[str]) -> tuple[str, tuple[str, ...]]:
    """Where the text of a sample is, as a field map has it, and what is uncertain."""
    if texts[0] != "json":
        return texts[0], ()
    first = next((member.data for member in head.members if member.data and member.name.endswith(".json")), b"{}")
    rows, _ = json_rows(Head(Path("a.jsonl"), "", first.replace(b"\n", b" "), whole=True))
    options, notes = guess_row_mapping(rows) if rows else ({}, ())
    form = options.get("format")
    field = form.options.get("text_key", "text") if isinstance(form, Call) else "text"
    return f"json[{field}]", tuple(note for note in notes if "text" in note)


def sniff_media_lines(head: Head) -> Facts | None:
    """The facts of objects with a field that names image, audio or video files elsewhere, as Energon's JSON lines have
    it; None for another file.
    """
    rows, wrong = json_rows(head) if not head.archive else ([], 0)
    names = {name for row in rows for name in row}
    media = sorted(name for name in names if rows and _are_media_names([row[name] for row in rows if row.get(name)]))
    if not media:
        return None
    options, notes = guess_row_mapping([{name: row[name] for name in row if name not in media} for row in rows])
    form = options.get("format")
    if form is not None and form.name != "Text":
        return None
    text = {"text": (form.options["text_key"],)} if form is not None else {}
    ids = {} if "id_key" in options and options["id_key"] is None else {"id_key": options.get("id_key", "id")}
    if wrong:
        notes = (*notes, f"{wrong} of the first {len(rows) + wrong} lines are no JSON objects: they will be refused")
    return Facts({**text, **ids, "media": tuple(media)}, fields_with_kinds(rows), notes)


def _are_media_names(values: list[Any]) -> bool:
    """Whether all values of a field are relative names of media files, or lists of such."""
    names = [name for value in values for name in (value if isinstance(value, list) else [value])]
    return bool(names) and all(isinstance(name, str) and _MEDIA.fullmatch(name) for name in names)
