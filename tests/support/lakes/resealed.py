"""A lake as a forger leaves it: whatever digest, size or sum follows from a changed object is made to fit."""

import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import msgspec
import xxhash
from testkit import Mill

from gristmill.errors import GristmillError
from gristmill.lake.address import place_of_ledger
from gristmill.lake.asset_kinds import BLOCKLIST, RAW, kind_of
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.counts import sum_counts
from gristmill.lake.ledger.files import parse_head, parse_table, partition_fingerprint, table_totals
from gristmill.lake.ledger.index_ledger import TEXTS, content_digest

TABLE = ".shards.jsonl.gz"
JSON = (".json", ".yaml", TABLE)
ROUNDS = 40
"""Digests stand in digests, from raw data to a release, so often at most."""


_QUOTED = re.compile(rb'"([0-9a-f]{16,64})"')
"""A digest that stands alone in a text of JSON."""

Style = Callable[[Any], bytes]


def _style(options: dict[str, Any], end: bytes) -> Style:
    return lambda value: json.dumps(value, **options).encode() + end


def styles() -> Iterator[Style]:
    """The ways in which files of JSON are written."""
    for end, ascii_only, sort in product((b"", b"\n"), (False, True), (True, False)):
        options = {"ensure_ascii": ascii_only, "sort_keys": sort}
        yield _style({**options, "separators": (",", ":")}, end)
        yield from (_style({**options, "indent": indent}, end) for indent in (None, 0, 1, 2))


_STYLES = list(styles())


def style_of(data: bytes) -> Style | None:
    """The style in which a JSON file is written; None if the file is not JSON, or its style is unknown."""
    try:
        value = json.loads(data)
    except ValueError:
        return None
    found = next((style for style in _STYLES if style(value) == data), None)
    if found is not None:
        _STYLES.remove(found)
        _STYLES.insert(0, found)  # the next file is probably like this one
    return found


def _is_json(path: str) -> bool:
    other = path.endswith((".run.json", "tokenizer.json"))
    return path.endswith(JSON) and "/raw/" not in path and not other


def plain(path: str, data: bytes) -> bytes:
    """The unpacked bytes of an object."""
    try:
        return gzip.decompress(data) if path.endswith(".gz") else data
    except (OSError, EOFError, zlib.error):  # forged
        return data


def _stats(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Each file below a folder, by its path there."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from ((f"{entry.name}/{path}", stat) for path, stat in _stats(entry.path))
            else:
                yield entry.name, entry.stat()


class Seals:
    """The objects of a lake, and what of each stands in others.

    Args:
        mill: the lake, as it should be.
    """

    def __init__(self, mill: Mill) -> None:
        self.root, self._store = mill.root, mill.store
        self.good = {each.path: mill.store.read(each.path) for each in mill.store.list("")}
        self._texts = {path: plain(path, data) for path, data in self.good.items() if _is_json(path)}
        self._styles = {path: style_of(text) for path, text in self._texts.items() if not path.endswith(TABLE)}
        self._naming: dict[bytes, list[str]] = {}
        for path, text in self._texts.items():
            for word in set(_QUOTED.findall(text)):
                self._naming.setdefault(word, []).append(path)
        self._stamps = self._stamped()
        self._now: dict[str, bytes] = {}
        self._written: list[str] | None = None

    def _stamped(self) -> dict[str, tuple[int, int]]:
        found = {path: (stat.st_mtime_ns, stat.st_ino) for path, stat in _stats(str(self.root))}
        found.pop(".lock", None)
        return found

    def _other(self) -> list[str]:
        now = self._stamped()
        return sorted(path for path in now.keys() | self._stamps.keys() if now.get(path) != self._stamps.get(path))

    def _read(self, path: str) -> bytes | None:
        return self._now.get(path, self.good.get(path))

    def restore(self) -> None:
        """Puts everything back that was planted or sealed."""
        for path in self._other() if self._written is None else sorted({*self._written, *self._now}):
            self._stamps.pop(path, None)
            if path in self.good:
                self._store.put(path, self.good[path])
                stat = (self.root / path).stat()
                self._stamps[path] = (stat.st_mtime_ns, stat.st_ino)
            elif (self.root / path).is_file():
                (self.root / path).unlink()
        self._now, self._written = {}, None

    def seal(self, forged_path: str) -> bool:
        """Makes all digests fit what was changed in the folder. Returns whether anything is other than before.

        Args:
            forged_path: the object whose own values stay as they are.
        """
        self._written = self._other()
        written = {path: (self.root / path).read_bytes() for path in self._written if (self.root / path).is_file()}
        self._now = {path: data for path, data in written.items() if data != self.good.get(path)}
        forged = {path: data for path, data in self._now.items() if path == forged_path}
        known = dict(self.good)
        due = list(self._now)
        for _ in range(ROUNDS):
            if not due:
                break
            for path in due:
                derived = self._derived(path, forged)
                if derived is not None and derived != self._read(path):
                    self._now[path] = derived
            due = [path for path, data in self._now.items() if data != known.get(path)]
            words: dict[str, str] = {}
            recipes: dict[str, dict[str, str]] = {}
            numbers: dict[int, int] = {}
            for path in due:
                old, new = known.get(path), self._read(path)
                if old is None or new is None:
                    continue
                was, now = self._words(path, old), self._words(path, new)
                words |= {word: now[of] for of, word in was.items() if of in now}
                was, now = _recipe_of(path, old), _recipe_of(path, new)
                recipes[path] = {word: now[of] for of, word in was.items() if now.get(of, word) != word}
                numbers |= {len(old): len(new)}
                if path.endswith(".gz"):
                    numbers |= {len(plain(path, old)): len(plain(path, new))}
                known[path] = new
            words = {old: new for old, new in words.items() if old != new}
            due = self._replaced(words, recipes, {old: new for old, new in numbers.items() if old != new})
        for path, data in self._now.items():
            self._store.put(path, data)  # a file may have two names, and is never changed in place
        return any(data != self.good.get(path) for path, data in self._now.items())

    def _words(self, path: str, data: bytes) -> dict[str, str]:
        """What other objects may have of this one."""
        unpacked = plain(path, data)
        found = {"sha256": hashlib.sha256(data).hexdigest(), "content": xxhash.xxh3_128_hexdigest(unpacked)}
        found["lines"] = hashlib.sha256(unpacked).hexdigest()
        if path.endswith(TEXTS) and b"\0" not in data:
            found["rootless"] = content_digest(data, path, str(self.root))
        if path.endswith(".json") and isinstance(own := _loaded(data), dict):
            found["fingerprint"] = str(own.get("fingerprint", ""))
        if path.endswith(TABLE):
            for row in map(_loaded, unpacked.splitlines()):
                if isinstance(row, dict):
                    found |= {
                        f"{row.get('name')} {name}": str(row.get(name, "")) for name in ("content", "ids", "sha256")
                    }
        return found

    def _replaced(
        self, known: dict[str, str], recipes: dict[str, dict[str, str]], numbers: dict[int, int]
    ) -> list[str]:
        """Puts other words in place of those that objects have of others. Returns the paths of what has changed.

        Args:
            known: the words, and what they are now.
            recipes: the same of the recipe of each ledger, which other snapshots and other lakes may have too.
            numbers: sizes, and what they are now.
        """
        known = {old: new for old, new in known.items() if old and new}
        found: list[str] = []
        naming = {path for old in known for path in self._naming.get(old.encode(), ())}
        naming |= self._now.keys() | {of for path in recipes for of in (path, path.removesuffix(".json") + TABLE)}
        for path in sorted(naming & self._texts.keys()):
            data = self._read(path)
            text = plain(path, data) if data and path in self._now else self._texts[path]
            words = known | recipes.get(path.removesuffix(TABLE).removesuffix(".json") + ".json", {})
            if not any(old.encode() in text for old in words):
                continue
            if path.endswith(TABLE):
                lines = [self._swapped(json.loads(line), words, numbers, path) for line in text.splitlines()]
                new = gzip.compress(b"".join(_packed(line) + b"\n" for line in lines), mtime=0)
            else:
                style, value = self._style(path, text)
                if style is None:
                    continue
                new = style(self._swapped(value, words, numbers, path))
            if new != data:
                self._now[path] = new
                found.append(path)
        return found

    def _style(self, path: str, data: bytes) -> tuple[Style | None, Any]:
        """The style of a file of JSON, and its value; None if it is forged so that it has no longer this style."""
        style, value = self._styles.get(path), _loaded(data)
        if style is None or (path in self._now and style(value) != data):
            return None, None
        return style, value

    def _swapped(self, value: Any, words: dict[str, str], numbers: dict[int, int], path: str) -> Any:
        """A value with other digests, and other sizes beside them. What a path names is only of that path."""
        items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()
        beside = any(isinstance(each, str) and each in words for each in items)

        def other(each: Any, key: str = "") -> Any:
            if self._is_other(key, path):
                return each
            if isinstance(each, str):
                return words.get(each, each)
            if beside and isinstance(each, int) and not isinstance(each, bool):
                return numbers.get(each, each)
            return self._swapped(each, words, numbers, path)

        if isinstance(value, dict):
            return {key: other(each, key) for key, each in value.items()}
        return [other(each) for each in value] if isinstance(value, list) else value

    def _is_other(self, key: str, path: str) -> bool:
        """Whether a key names an object that has not changed; of sums.json by its name in the folder."""
        named = {key, f"{path.rpartition('/')[0]}/{key}"} & self.good.keys()
        return bool(named) and all(self._read(each) == self.good[each] for each in named)

    def _derived(self, path: str, forged: dict[str, bytes]) -> bytes | None:
        """What an object must say by itself: a head of its table, a row of its record, a ledger's own digest."""
        data = self._read(path)
        if data is None:
            return None
        if path.endswith(TABLE):
            new = gzip.decompress(data)
            if path not in forged:
                new = b"".join(_packed(_of_record(json.loads(line))) + b"\n" for line in new.splitlines())
            self._head(path.removesuffix(TABLE) + ".json", new, whole=True, forged=forged)
            return gzip.compress(new, mtime=0)
        where = place_of_ledger(path)
        if where is not None:
            table = self._read(where.table)
            if table is not None:
                self._head(path, gzip.decompress(table), whole=False, forged=forged)
            return None
        style, value = self._style(path, data)
        good = json.loads(self.good[path]) if style and path in self.good else {}
        mine = _loaded(forged[path]) if path in forged else good
        if style is None or not (isinstance(value, dict) and isinstance(mine, dict) and isinstance(good, dict)):
            return None
        kept = {name for name in ("fingerprint", "digest", "totals") if mine.get(name) != good.get(name)}
        try:
            return style({**value, **{name: to for name, to in _own_sums(path, value).items() if name not in kept}})
        except (KeyError, TypeError, AttributeError, msgspec.ValidationError):
            return None

    def _head(self, path: str, lines: bytes, *, whole: bool, forged: dict[str, bytes]) -> None:
        """Writes the head of a table as it follows from its rows, but for the field that was forged."""
        where = place_of_ledger(path)
        data = self._read(path)
        if where is None or data is None:
            return
        try:
            head = json.loads(data)
            good = json.loads(self.good[path])
            mine = json.loads(forged[path]) if path in forged else good
            parsed, rows = parse_head(data, path), parse_table([lines], where.table)
            if whole:
                head["table"] = {"sha256": hashlib.sha256(lines).hexdigest(), "shards": len(rows)}
                head["totals"] = table_totals(rows)
                head["dropped"] = sum_counts(s.dropped for s in rows)
                for each in head["inputs"]:
                    if kind_of(each["asset"]) in {RAW, BLOCKLIST}:
                        read = sorted([i.shard, i.content] for s in rows for i in s.inputs if i.asset == each["asset"])
                        each["fingerprint"] = digest_of(read)
                parsed = parse_head(_packed(head), path)
            if mine.get("fingerprint") == good.get("fingerprint"):
                head["fingerprint"] = partition_fingerprint(where, parsed.recipe, parsed.inputs, rows)
        except (GristmillError, TypeError, KeyError, AttributeError, ValueError):
            return
        if _packed(head) != data:
            self._now[path] = _packed(head)


_RECIPE = ("name", "version", "parameters")


def _recipe_of(path: str, data: bytes) -> dict[str, str]:
    """The digest of the recipe that a ledger records."""
    own = _loaded(data) if path.endswith(".json") else None
    recipe = own.get("recipe") if isinstance(own, dict) else None
    if not isinstance(recipe, dict) or not recipe.keys() >= set(_RECIPE):
        return {}
    return {"recipe": digest_of([recipe[name] for name in _RECIPE])}


class _Slice(msgspec.Struct):
    stream: str
    snapshot: str
    fingerprint: str
    totals: dict[str, int]


def _own_sums(path: str, value: dict[str, Any]) -> dict[str, Any]:
    """What an index, a release or another ledger says of itself: digests, and sums of its slices."""
    if path.endswith("index.json"):
        slices = [msgspec.convert(each, type=_Slice) for each in value["slices"]]
        of = digest_of([value["asset"], [[each.stream, each.snapshot, each.fingerprint] for each in slices]])
        return {"fingerprint": of, "totals": sum_counts(each.totals for each in slices)}
    if "digest" in value and path.startswith("releases/"):
        bare = {key: each for key, each in value.items() if key != "digest"}
        return {"digest": hashlib.sha256(_packed(bare)).hexdigest()}
    if "digest" in value:
        return {"digest": digest_of({**value, "digest": ""})}
    if "files" in value and "inputs" in value:
        inputs = [[each["asset"], each["snapshot"], each["fingerprint"]] for each in value["inputs"]]
        return {"fingerprint": digest_of({"asset": value["asset"], "inputs": inputs, "files": value["files"]})}
    return {}


def _loaded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _packed(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()


def _of_record(row: dict[str, Any]) -> dict[str, Any]:
    """The row of a part with what follows from its record."""
    extra = row.get("extra", {})
    objects = extra.get("objects")
    if not isinstance(objects, dict):
        return row
    row = {**row, "sha256": digest_of([[path, sha256] for path, (sha256, _) in sorted(objects.items())])}
    row["bytes"] = sum(size for _, size in objects.values())
    if "contents" in extra:
        row["content"] = digest_of([sorted(extra["contents"].items()), extra.get("facts", {})])
        row["length"] = row["bytes"]
    elif "files" in extra:
        files = sorted(extra["files"].items())
        row["content"] = digest_of([[name, file["facts"]["content"], file["documents"]] for name, file in files])
        row["length"] = sum(file["facts"]["length"] for _, file in files)
    return row


def forge(mill: Mill, path: str, change: Callable[[Any], object]) -> None:
    """Changes a record, written as it was; whatever digest follows from it is made to fit."""
    seals = Seals(mill)
    data = mill.store.read(path)
    value = json.loads(data)
    change(value)
    style = style_of(data)
    assert style is not None
    mill.store.put(path, style(value))
    assert seals.seal(path)
