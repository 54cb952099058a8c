"""Sniffers: each says whether the beginning of a file has its format, by its content, with facts about it."""

import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson

from gristmill.peeking.head import Head
from gristmill.peeking.rows import array_rows, delimited_rows, fields_with_kinds, guess_row_mapping, json_rows

_IRC = re.compile(r"\[?\d{1,2}:\d{2}(:\d{2})?\]?\s*(<[^>\s]+>|\*|-!-)|===")
_GUTENBERG = re.compile(r"^\*\*\* ?START OF (THE|THIS) PROJECT GUTENBERG|^\*END[* ]*THE SMALL PRINT", re.MULTILINE)
_CHECKSUM = re.compile(r"[0-9a-f]{64,128} [ *]\S+")
_YAML = re.compile(r"(\s*-\s|\s*[\w\"'./$-]+:(\s|$)|\s*#|\s*$|---)")
_FRONT_MATTER = re.compile(r"---\n.*?^---\n\s*#{1,6} \S", re.DOTALL | re.MULTILINE)
_HEADED = re.compile(r"[A-Z][A-Za-z-]{1,30}:([ \t]|$)")
_MARKDOWN = re.compile(r"(#{1,6} \S|```|\[[^\]]+\]\([^)]+\)|[-*] \S|> \S|\|.*\|)")
_WARC_TYPE = re.compile(rb"^WARC-Type: *([a-z]+)", re.MULTILINE | re.IGNORECASE)
_JSON = re.compile(r"\s*(?:\{\s*\"[^\"\n]{0,200}\"\s*:|\[\s*[{\"]|(?:\[\s*){4})")
_ROOT = re.compile(r"<([A-Za-z_][\w.:-]*)[\s/>]")


@dataclass(frozen=True)
class Facts:
    """What a sniffer knows of a file of its format.

    Attributes:
        options: options of the reader, besides the source.
        fields: names and kinds of the records' fields, or other facts, for people.
        notes: notes on what is uncertain.
        more: further options of the source.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


@lru_cache(maxsize=8)
def _first_json_rows(head: Head) -> tuple[list[dict[str, Any]], int]:
    return json_rows(head) if not head.archive else ([], 0)


def _json_facts(head: Head, options: Mapping[str, Any], notes: tuple[str, ...] = ()) -> Facts:
    rows, wrong = _first_json_rows(head)
    if wrong:
        notes = (*notes, f"{wrong} of the first {len(rows) + wrong} lines are no JSON objects: they will be refused")
    return Facts(options, fields_with_kinds(rows), notes)


def sniff_json_lines(head: Head) -> Facts | None:
    """The facts of objects of any form, one on each line; None for another file."""
    rows, _ = _first_json_rows(head)
    if not rows:
        return None
    options, notes = guess_row_mapping(rows)
    return _json_facts(head, options, notes)


def _all_lines_have_keys(head: Head, **kinds: type | tuple[type, ...]) -> bool:
    """Whether all of the first lines are objects with these keys, of these kinds."""
    rows, _ = _first_json_rows(head)
    return bool(rows) and all(isinstance(row.get(key), kind) for row in rows for key, kind in kinds.items())


def sniff_oscar(head: Head) -> Facts | None:
    """The facts of lines of OSCAR 22.01 or 23.01; None for another file. The latter have quality warnings and more."""
    if not _all_lines_have_keys(head, content=str, warc_headers=dict, metadata=dict):
        return None
    rows, _ = _first_json_rows(head)
    newer = any({"tlsh", "harmful_pp", "quality_warnings", "categories"} & row["metadata"].keys() for row in rows)
    return _json_facts(head, {"schema": "23.01" if newer else "22.01"})


def sniff_dolma(head: Head, kind: type | tuple[type, ...] = str) -> Facts | None:
    """The facts of documents as Dolma's toolkit writes them, with ids of this kind; None for another file."""
    known = {"id", "text", "source", "added", "created", "metadata", "version", "attributes"}
    rows, _ = _first_json_rows(head)
    fits = _all_lines_have_keys(head, id=kind, text=str) and all(
        row.keys() <= known and row.keys() & {"source", "added"} for row in rows
    )
    return _json_facts(head, {}) if fits else None


def sniff_dolma_numbered(head: Head) -> Facts | None:
    """The facts of documents of Dolma's form, some or all of whose ids are integers; None for another file."""
    return sniff_dolma(head, (str, int))


def sniff_dolma_attributes(head: Head) -> Facts | None:
    """The facts of attributes of Dolma documents, which are labels without texts; None for another file."""
    if not _all_lines_have_keys(head, id=(str, int), attributes=dict) or any(
        "text" in row for row in _first_json_rows(head)[0]
    ):
        return None
    return _json_facts(head, {}, ("labels of documents, without texts: adopt the folder that holds both",))


def sniff_reply_trees(head: Head) -> Facts | None:
    """The facts of trees of conversations, as OpenAssistant exports them; None for another file."""
    return _json_facts(head, {}) if _all_lines_have_keys(head, message_tree_id=str, prompt=dict) else None


def sniff_marked_turns(head: Head) -> Facts | None:
    """The facts of conversations as strings with marks, in pairs; None for another file."""
    rows, _ = _first_json_rows(head)
    marked = _all_lines_have_keys(head, chosen=str, rejected=str) and all(
        "\n\nHuman:" in f"\n\n{row['chosen']}" for row in rows
    )
    return _json_facts(head, {"keys": ("chosen", "rejected")}) if marked else None


def sniff_redpajama_arxiv(head: Head) -> Facts | None:
    """The facts of LaTeX of arXiv, in RedPajama's form; None for another file."""
    rows, _ = _first_json_rows(head)
    fits = _all_lines_have_keys(head, text=str, meta=dict) and all("arxiv_id" in row["meta"] for row in rows)
    return _json_facts(head, guess_row_mapping(rows)[0]) if fits else None


def sniff_threads(head: Head) -> Facts | None:
    """The facts of threads of questions and answers, in RedPajama's form; None for another file."""
    rows, _ = _first_json_rows(head)
    asked = _all_lines_have_keys(head, text=str) and all(row["text"].startswith("Q: ") for row in rows)
    return (
        _json_facts(head, guess_row_mapping(rows)[0])
        if asked and any("\n\nA: " in row["text"] for row in rows)
        else None
    )


def sniff_json_array(head: Head) -> Facts | None:
    """One JSON array of objects."""
    rows = [] if head.archive else array_rows(head)
    if not rows:
        return None
    options, notes = guess_row_mapping(rows)
    return Facts(options, fields_with_kinds(rows), notes)


def sniff_turns_array(head: Head) -> Facts | None:
    """One JSON array of conversations with turns, such as Taskmaster's."""
    rows = [] if head.archive else array_rows(head)
    options, notes = guess_row_mapping(rows)
    return Facts(options, fields_with_kinds(rows), notes) if rows and "turns" in options else None


def sniff_delimited(head: Head) -> Facts | None:
    """A table with a header and a delimiter."""
    delimiter, rows, ragged = delimited_rows(head) if head.text and not head.archive else ("", [], 0)
    if not rows:
        return None
    options, notes = guess_row_mapping(rows)
    if ragged:
        told = f"{ragged} of the first {len(rows) + ragged} rows have another number of fields: they will be refused"
        notes = (*notes, told)
    shown = {"\t": "a tab", ",": "a comma", ";": "a semicolon", "|": "a bar"}[delimiter]
    return Facts(
        {"delimiter": delimiter, **_encoding_option(head), **options},
        (f"the delimiter is {shown}", *fields_with_kinds(rows)),
        notes,
    )


def sniff_parquet(head: Head) -> Facts | None:
    """A parquet file; its schema is at its end."""
    if not head.data.startswith(b"PAR1") or head.packing:
        return None
    import pyarrow as pa  # noqa: PLC0415 - dear to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        file = pq.ParquetFile(head.path)
        binary = tuple(column.name for column in file.schema_arrow if _has_bytes(column.type))
        others = [name for name in file.schema_arrow.names if name not in binary]
        batch = next(file.iter_batches(batch_size=50, columns=others), None)
        rows = [] if batch is None else orjson.loads(orjson.dumps(batch.to_pylist(), default=str))
    except (pa.ArrowException, OSError, TypeError) as error:
        return Facts(notes=(f"it cannot be read: {error}",))
    options, notes = guess_row_mapping(rows)
    if binary:
        options |= {"leave_out": binary}
        notes = (*notes, f"{', '.join(binary)}: bytes cannot become a text or metadata; leave_out names them")
    columns = tuple(f"{column.name}: {column.type}" for column in file.schema_arrow)
    return Facts(options, (f"{file.metadata.num_rows:,} rows", *columns), notes)


def _has_bytes(kind: Any) -> bool:
    """Whether a column of this Arrow type holds bytes, at any depth."""
    if str(kind).startswith(("binary", "large_binary", "fixed_size_binary")):
        return True
    inner = getattr(kind, "value_type", None)
    below = [kind.field(number).type for number in range(getattr(kind, "num_fields", 0))]
    return (inner is not None and _has_bytes(inner)) or any(map(_has_bytes, below))


def _warc_types(head: Head) -> Counter[str]:
    if not re.match(rb"WARC/[01]\.\d+\r?\n", head.data):
        return Counter()
    return Counter(found.decode().lower() for found in _WARC_TYPE.findall(head.data))


def _warc_facts(types: Counter[str]) -> Facts:
    return Facts(fields=tuple(f"{count} {name} records" for name, count in types.most_common()))


def sniff_wet(head: Head) -> Facts | None:
    """The facts of texts of a crawl (WET); None for another file."""
    types = _warc_types(head)
    return _warc_facts(types) if types["conversion"] and not types["response"] else None


def sniff_wat(head: Head) -> Facts | None:
    """The facts of metadata of a crawl (WAT); None for another file."""
    types = _warc_types(head)
    fits = types["metadata"] and not types["response"] and b'{"Container"' in head.data
    return _warc_facts(types) if fits else None


def sniff_warc(head: Head) -> Facts | None:
    """The facts of pages of a crawl (WARC); None for another file."""
    types = _warc_types(head)
    return _warc_facts(types) if types else None


def xml_root_element(head: Head) -> str:
    """The root element of an XML file; empty if the file is not XML."""
    text = head.text.removeprefix("\ufeff").lstrip()
    if not text.startswith("<") or head.archive:
        return ""
    text = re.sub(
        r"<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(\[.*?\])?[^>]*>", "", text[:20_000], flags=re.DOTALL | re.IGNORECASE
    )
    found = _ROOT.match(text.lstrip())
    return found[1] if found else ""


def sniff_mediawiki(head: Head) -> Facts | None:
    """A dump of a wiki."""
    if xml_root_element(head) != "mediawiki":
        return None
    name = re.search(r"<dbname>([^<]+)", head.text)
    version = re.search(r'version="([^"]+)"', head.text[:2000])
    told = [f"export version {version[1]}"] if version else []
    return Facts(fields=(*told, *([f"wiki {name[1]}"] if name else [])))


def sniff_jats(head: Head) -> Facts | None:
    """An article in JATS."""
    fits = xml_root_element(head) == "article" and ("JATS" in head.text[:4000] or "article-type" in head.text[:4000])
    return Facts() if fits else None


def sniff_posts(head: Head) -> Facts | None:
    """The facts of Posts.xml of a Stack Exchange dump; None for another file."""
    return Facts() if xml_root_element(head) == "posts" and "PostTypeId=" in head.text else None


def sniff_html(head: Head) -> Facts | None:
    """A web page."""
    return Facts() if xml_root_element(head).lower() == "html" else None


def sniff_other_xml(head: Head) -> Facts | None:
    """The facts of XML of another kind; None for other files."""
    root = xml_root_element(head)
    declared = head.text.removeprefix("\ufeff").startswith(("<?xml", "<!DOCTYPE"))
    return Facts(notes=(f"XML with the root <{root}>: no reader knows it",)) if root and declared else None


def sniff_encoded_json(head: Head) -> Facts | None:
    """The facts of JSON in another encoding than UTF-8; None for another file."""
    if not _encoding_option(head) or not _is_json(head):
        return None
    named = re.sub(r"^(utf-(?:16|32))-(le|be)$", r"\1\2", head.text_encoding)
    mend = f"rewrite it: iconv -f {named} -t utf-8 OLD > NEW"
    return Facts(notes=(f"JSON in {head.text_encoding}, as its first bytes look; JSON must be UTF-8; {mend}",))


def sniff_other_json(head: Head) -> Facts | None:
    """The facts of JSON of which no object could be read; None for another file."""
    note = "JSON of which no whole object is at the beginning: it is too long, too deep, or of one value"
    return Facts(notes=(note,)) if _is_json(head) else None


def _is_json(head: Head) -> bool:
    return not head.archive and _JSON.match(head.text.removeprefix("\ufeff")) is not None


def _share_of_matching_lines(head: Head, pattern: re.Pattern[str]) -> float:
    """The share of the first lines with words that begin with a pattern."""
    lines = [line for line in head.text.splitlines()[:400] if line.strip()]
    return sum(bool(pattern.match(line)) for line in lines) / len(lines) if lines else 0.0


def _encoding_option(head: Head) -> dict[str, str]:
    """The option of a reader of texts that are not UTF-8."""
    return {} if head.text_encoding in {"utf-8", "utf-8-sig"} else {"encoding": head.text_encoding}


def sniff_gutenberg(head: Head) -> Facts | None:
    """A book of Project Gutenberg."""
    title = re.search(r"^Title: *(.+)", head.text[:20_000], re.MULTILINE)
    return Facts(fields=(f"title: {title[1].strip()}",) if title else ()) if _GUTENBERG.search(head.text) else None


def sniff_irc(head: Head) -> Facts | None:
    """A log of a channel."""
    return Facts() if _share_of_matching_lines(head, _IRC) > 0.8 else None


def sniff_checksums(head: Head) -> Facts | None:
    """The facts of checksums of other files; None for another file."""
    return (
        Facts(notes=("checksums of other files, no documents",))
        if _share_of_matching_lines(head, _CHECKSUM) == 1
        else None
    )


def sniff_yaml(head: Head) -> Facts | None:
    """A configuration in YAML."""
    named = head.path.name.endswith((".yaml", ".yml"))
    keys = re.search(r"^[\w.-]+:(\s|$)", head.text, re.MULTILINE)
    other = _HEADED.match(head.text) or (not named and _FRONT_MATTER.match(head.text))
    fits = keys and _share_of_matching_lines(head, _YAML) > (0.5 if named else 0.98) and not other
    return Facts(notes=("a configuration, no documents",)) if fits else None


def sniff_headed(head: Head) -> Facts | None:
    """A text with header fields, such as a PEP."""
    begin = head.text.removeprefix("\ufeff").partition("\n\n")[0].splitlines()
    named = [line for line in begin if _HEADED.match(line)]
    fits = len(named) > 2 and all(_HEADED.match(line) or line[:1] in " \t" for line in begin)
    return Facts(fields=tuple(line.partition(":")[0] for line in named)) if fits else None


def sniff_markdown(head: Head) -> Facts | None:
    """A text in Markdown."""
    heading = re.search(r"^#{1,6} \S", head.text, re.MULTILINE)
    fits = heading and (
        _share_of_matching_lines(head, _MARKDOWN) > 0.2 or head.path.name.lower().endswith((".md", ".markdown"))
    )
    front = {"front_matter": True} if head.text.startswith("---\n") else {}
    return Facts({**_encoding_option(head), **front, "title": True}) if fits else None


def sniff_plain_text(head: Head) -> Facts | None:
    """Any text."""
    if head.archive or not head.text_encoding or not head.text.strip():
        return None
    lines = len(io.StringIO(head.text).readlines())
    return Facts(_encoding_option(head), (f"{lines:,} lines{'' if head.whole else ' or more'}",))
