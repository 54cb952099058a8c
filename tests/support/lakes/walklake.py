"""A walk: commands of people at random on one small lake, beside a model that knows what each may leave behind.

The model has the raw rows and the blocklist. Each text has a word of its own, so what came of it is found in any object
by its bytes, without a ledger. A new text of a document has a new word.
"""

import gzip
import hashlib
import json
import random
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dying import Child
from testkit import Mill

from gristmill.__main__ import main
from gristmill.errors import DataError
from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.lake.address import cache_asset
from gristmill.stages.token_cache.token_stream import open_split

SOURCES = ("pages", "notes")
SNAPSHOTS = ("2024", "2025")
LIST = "blocklists/takedowns.jsonl"
TRAINED = ("mixes/", "token_caches/", "exports/")
_LEDGER = "mixes/walk/ledgers/{0.source}/{0.snapshot}.json"
WORD = re.compile(r"u\d{5}")

Pair = tuple[str, str]


class File(NamedTuple):
    """A raw object."""

    source: str
    snapshot: str
    name: str

    @property
    def path(self) -> str:
        """Its path in the lake."""
        return f"sources/{self.source}/raw/{self.snapshot}/{self.name}"


class WrongWalkError(AssertionError):
    """The lake is not as the model says; names the steps of the walk."""


class Walk:
    """One lake, its model, and the commands.

    Args:
        root: an empty folder for the lake.
        seed: repeats the walk.
    """

    def __init__(self, root: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self.mill, self._asked = Mill(root), root.parent / "asked.jsonl"
        self._raw: dict[File, list[dict[str, Any]]] = {}
        self._words, self._releases, self._names = 0, set[str](), 0
        self._pairs: set[Pair] = set()
        self.log: list[str] = []
        self.codes: Counter[str] = Counter()
        self.mill.store.put(LIST, b"")
        self._add("pages", "2024", 6)
        self._add("notes", "2024", 6)

    # the model

    def _text(self, source: str) -> str:
        self._words += 1
        mark = " DROP" if source == "pages" and self._random.random() < 0.2 else ""
        return f"{source} u{self._words:05} says something{mark}"

    def _add(self, source: str, snapshot: str, count: int) -> None:
        there = {id_ for each, id_ in self._pairs if each == source}
        ids = [str(number) for number in range(200) if str(number) not in there][:count]
        file = File(source, snapshot, f"{self._random.choice('abcd')}{len(self._raw)}.jsonl.gz")
        self._pairs |= {(source, id_) for id_ in ids}
        self._write(file, [{"id": id_, "text": self._text(source), "source": source} for id_ in ids])

    def _write(self, file: File, rows: list[dict[str, Any]]) -> None:
        self.mill.raw(file.name, rows, file.source, file.snapshot)
        self._raw[file] = rows

    def listed(self) -> set[Pair]:
        """The pairs on the blocklist."""
        rows = map(json.loads, self.mill.store.read(LIST).splitlines())
        return {(row["source"], row["id"]) for row in rows}

    def expected(self, *, everything: bool = True) -> set[str]:
        """The words of the texts that training should read; those of slices that were never made only on demand."""
        listed = self.listed()
        return {
            WORD.findall(row["text"])[0]
            for file, rows in self._raw.items()
            for row in rows
            if (everything or self.mill.store.head(_LEDGER.format(file)))
            and "DROP" not in row["text"]
            and (row["source"], row["id"]) not in listed
        }

    def _words_of(self, pairs: set[Pair]) -> set[str]:
        rows = (row for rows in self._raw.values() for row in rows)
        return {WORD.findall(row["text"])[0] for row in rows if (row["source"], row["id"]) in pairs}

    # what the lake has

    def _text_of_tokens(self, ids: Sequence[int]) -> str:
        vocabulary = json.loads(self.mill.store.read("tokenizers/bytes-1/tokenizer.json"))["model"]["vocab"]
        letters = {number: token.replace("Ġ", " ") for token, number in vocabulary.items()}
        return "".join(letters.get(each, "?") for each in ids)

    def trained(self) -> dict[str, Counter[str]]:
        """How often each word comes in what the mix, its cache and its exports give to training."""
        store = self.mill.store
        found = {"mix": Counter[str](), "tokens": Counter[str]()}
        for stream in SOURCES:
            for path in self.mill.root.glob(f"mixes/walk/documents/{stream}/*/*.gz"):
                found["mix"].update(WORD.findall(gzip.decompress(path.read_bytes()).decode()))
            for split in ("train", "validation"):
                tokens = open_split(store, cache_asset("walk", "bytes-1", stream), split)
                ids = tokens.read_elements("input_ids", 0, tokens.count("input_ids")).tolist()
                found["tokens"].update(WORD.findall(self._text_of_tokens(ids)))
        for name in ("oscar", "lines"):
            files = json.loads(store.read(f"exports/walk/{name}/index/ledger.json"))["files"]
            rows = [_plain(store.read(path)) for path in files if path.endswith((".jsonl", ".jsonl.gz"))]
            found[name] = Counter(word for each in rows for word in WORD.findall(each))
        return found

    def everywhere(self) -> dict[str, set[str]]:
        """The words in all objects that training could read, by path: unpacked, of caches the text of the tokens."""
        found: dict[str, set[str]] = {}
        for path in self.mill.root.rglob("*"):
            name = str(path.relative_to(self.mill.root))
            if not path.is_file() or not name.startswith(TRAINED):
                continue
            if name.endswith("/shard_ledger.json"):
                try:
                    cache = CacheReader(range_reader_of_store(self.mill.store), name.rpartition("/")[0])
                except DataError:  # the merged ledger of a stream, or one of a killed run
                    continue
                found[name] = set()
                for row in range(cache.rows):
                    found[name] |= set(WORD.findall(self._text_of_tokens(cache.row("input_ids", row).tolist())))
            else:
                found[name] = set(WORD.findall(_plain(path.read_bytes())))
        return found

    # checks

    def check(self, right: bool, what: str) -> None:  # noqa: FBT001 - what holds, and its name
        """Raises WrongWalkError unless something is right."""
        if not right:
            raise WrongWalkError("\n".join([what, *self.log]))

    def check_raw(self) -> None:
        """Raw objects have the model's rows, byte for byte, and there are no others."""
        there = {str(p.relative_to(self.mill.root)) for p in self.mill.root.glob("sources/*/raw/**/*") if p.is_file()}
        empty = {file.path for file, rows in self._raw.items() if not rows}
        self.check(there | empty == {file.path for file in self._raw}, f"raw objects: {sorted(there)}")
        for file, rows in self._raw.items():
            self.check(self._rows(file) == rows, f"{file.path} has other rows")

    def _rows(self, file: File) -> list[dict[str, Any]]:
        if self.mill.store.head(file.path) is None:  # erase removes an object of which nothing is left
            return []
        return [json.loads(line) for line in gzip.decompress(self.mill.store.read(file.path)).splitlines()]

    def check_releases(self) -> None:
        """Each release that was not withdrawn is there, with objects of the digests that it names."""
        there = {path.stem for path in self.mill.root.glob("releases/*.json")}
        self.check(there == self._releases, f"releases: {sorted(there)}")
        for name in there:
            for path, (sha256, _) in json.loads(self.mill.store.read(f"releases/{name}.json"))["objects"].items():
                file = self.mill.root / path
                right = file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == sha256
                self.check(right, f"{path} of release {name} is lost or changed")

    # commands

    def _command(self, command: str, *words: str) -> list[str]:
        return [command, str(self.mill.root), *words, *([] if command == "gc" else ["--shelves", "walkshelf"])]

    def run(self, command: str, *words: str) -> int:
        """A command on the lake: its exit code. The log gets both."""
        code = main(self._command(command, *words))
        options = [each for each in words if each in {"--prove", "--retract", "--release"}]
        self.codes[" ".join([command, *options, str(code)])] += 1
        self.log.append(f"{command} {' '.join(words)}: {code}")
        return code

    def _ask(self, pairs: Sequence[Pair]) -> list[str]:
        self._asked.write_text("".join(json.dumps({"source": a, "id": b}) + "\n" for a, b in pairs))
        self.log.append(f"asked for {pairs}")
        return ["--ids", str(self._asked)]

    def _some(self) -> list[Pair]:
        """One to three documents that are or were there."""
        return self._random.sample(sorted(self._pairs), min(len(self._pairs), self._random.randint(1, 3)))

    def make(self) -> None:
        if self.run("make", "--engine", "inline") == 0 and self.mill.store.head("tokenizers/bytes-1/ledger.json"):
            expected = Counter(self.expected())
            for what, words in self.trained().items():
                self.check(words == expected, f"{what}: {words - expected} too much, {expected - words} missing")
            self.check(self.run("plan") == 0, "something is due right after make")

    def make_some(self) -> None:
        """Makes a part of the lake alone, as people do who wait for it."""
        targets = ("walk", "bare", "pages/v1", "mixes/walk/documents/notes", "sources/pages/v0/documents")
        self.run("make", self._random.choice(targets), "--engine", "inline")

    def arrive(self) -> None:
        source, snapshot = self._random.choice(SOURCES), self._random.choice(SNAPSHOTS)
        self.log.append(f"new raw object of {source} {snapshot}")
        self._add(source, snapshot, self._random.randint(1, 5))

    def edit(self) -> None:
        file = self._random.choice(sorted(self._raw))
        rows = [dict(row) for row in self._raw[file]]
        kind = self._random.choice(("text", "drop", "swap"))
        self.log.append(f"{kind} in {file.path}")
        if not rows:
            return
        row = self._random.randrange(len(rows))
        if kind == "text":
            rows[row]["text"] = self._text(file.source)
        elif kind == "drop":
            rows.pop(row)
        else:
            rows.reverse()
        self._write(file, rows)

    def remove(self) -> None:
        shards = Counter((file.source, file.snapshot) for file, rows in self._raw.items() if rows)
        several = sorted(file for file in self._raw if shards[file.source, file.snapshot] > 1)
        if several:  # a snapshot without raw data is not taken for one that is empty
            file = self._random.choice(several)
            self.log.append(f"removed {file.path}")
            del self._raw[file]
            self.mill.store.delete([file.path])

    def takedown(self) -> None:
        pairs, before = self._some(), self.listed()
        code = self.run("takedown", *self._ask(pairs))
        added = self.listed() - before
        self.check(added <= set(pairs), f"others were added: {added}")
        self.check(code != 0 or set(pairs) <= self.listed(), "exit code 0, and not all are listed")

    def misspell(self) -> None:
        source, id_ = self._random.choice(sorted(self._pairs))
        other = "notes" if source == "pages" else "pages"
        wrong = self._random.choice([(source[:-1], id_), (source, f"{id_}x"), (other, id_)])
        if wrong in self._pairs:
            return
        before = self.listed()
        command = self._random.choice(("takedown", "erase"))
        self.check(self.run(command, *self._ask([wrong])) != 0, "a misspelt document is known")
        self.check(self.listed() == before, "a misspelt document was listed")
        self.check(self.run("takedown", *self._ask([wrong]), "--prove") != 0, "a misspelt document is proven gone")

    def retract(self) -> None:
        listed = sorted(self.listed())
        if listed:
            pairs = [self._random.choice(listed)]
            code = self.run("takedown", *self._ask(pairs), "--retract")
            self.check(code == 0 and self.listed() == set(listed) - set(pairs), "a document is still listed")

    def prove(self) -> None:
        listed = sorted(self.listed())
        pairs = self._random.sample(listed, min(len(listed), 2)) if self._random.random() < 0.8 else self._some()
        if pairs and self.run("takedown", *self._ask(pairs), "--prove") == 0:
            words = self._words_of(set(pairs)) | self._old_words(pairs)
            left = {path: there & words for path, there in self.everywhere().items() if there & words}
            self.check(not left, f"proven to be gone, and there: {left}")

    def settle(self) -> None:
        """Everything is made, and no release holds old parts: a document that is listed is proven to be gone.

        The mix `bare` names no list, so a note stays in it until its raw data are gone.
        """
        listed = sorted(self.listed())
        for name in sorted(self._releases):
            self.run("erase", "--release", name)
        self._releases.clear()
        self.make()
        self.gc()
        records = [json.loads(path.read_bytes()) for path in self.mill.root.glob("withdrawn/*.json")]
        if listed and self.log[-2].endswith(": 0") and all(each["done"] for each in records if "done" in each):
            pair = self._random.choice(listed)
            stays = pair[0] == "notes" and self._words_of({pair})
            code = self.run("takedown", *self._ask([pair]), "--prove")
            self.check(code == bool(stays), f"{pair} is there: {bool(stays)}, and the proof ends with {code}")

    def _old_words(self, pairs: Sequence[Pair]) -> set[str]:
        """The words of the documents in versions: texts that raw data had before."""
        found = set()
        for path in self.mill.root.glob("sources/*/v*/documents/*/*.gz"):
            for line in gzip.decompress(path.read_bytes()).splitlines():
                row = json.loads(line)
                if (row["source"], row["id"]) in pairs:
                    found |= set(WORD.findall(row["text"]))
        return found

    def erase(self) -> None:
        pairs = set(self._some())
        code = self.run("erase", *self._ask(sorted(pairs)))
        for file, rows in list(self._raw.items()):
            kept = [row for row in rows if (row["source"], row["id"]) not in pairs]
            now = self._rows(file)
            if now != rows:
                self.check(now == kept, f"{file.path}: {len(rows)} rows, {len(kept)} should be left, {len(now)} are")
                self._raw[file] = kept
            self.check(code != 0 or now == kept, f"erased with exit code 0, and {file.path} still has them")

    def release(self) -> None:
        self._names += 1
        name = f"r{self._names}"
        exports = [f"--export={each}" for each in ("oscar", "lines") if self._random.random() < 0.5]
        if self.run("release", "walk", "bytes-1", name, *exports) == 0:
            self._releases.add(name)
            named = json.loads(self.mill.store.read(f"releases/{name}.json"))["objects"]
            found = {path: words for path, words in self.everywhere().items() if path in named}
            words = set().union(*(w for path, w in found.items() if path.startswith("token_caches/")), set())
            due = self.expected(everything=False)  # a slice that was never made belongs to no release
            self.check(words == due, f"release {name}: its tokens are not those that are due")

    def withdraw(self) -> None:
        if self._releases:
            name = self._random.choice(sorted(self._releases))
            self.check(self.run("erase", "--release", name) == 0, f"release {name} is not withdrawn")
            self._releases.remove(name)

    def gc(self) -> None:
        self.check(self.run("gc") in {0, 1}, "gc failed")

    def verify(self) -> None:
        """After make and gc, the lake is proven."""
        self.make()
        self.gc()
        if self.log[-2].endswith(": 0"):
            self.check(self.run("verify", "--all") == 0, "verify has findings after make and gc")

    def kill(self) -> None:
        """A command that dies before one of its changes; it is given again later, or never."""
        words = self._random.choice((["make", "--engine", "inline"], ["gc"], ["erase"]))
        pairs = set(self._some()) if words == ["erase"] else set()
        asked = self._ask(sorted(pairs)) if pairs else []
        die = self._random.randint(1, 60)
        command = self._command(*words, *asked)
        child = Child(lambda: main(command), self.mill.root, die)
        code = child.wait()
        self.log.append(f"killed before change {die}: {' '.join(words)}: {code}")
        self.codes[f"killed {words[0]}" if code == -signal.SIGKILL else f"{words[0]} {code}"] += 1
        for file, rows in list(self._raw.items()):
            kept = [row for row in rows if (row["source"], row["id"]) not in pairs]
            now = self._rows(file)
            self.check(now in (rows, kept), f"{file.path} has other rows after a kill")
            self._raw[file] = now

    def steps(self, count: int) -> Iterator[str]:
        """Takes so many steps. Yields the name of each before it."""
        likely: dict[Callable[[], None], int] = {
            self.make: 8, self.make_some: 3, self.arrive: 4, self.edit: 5, self.remove: 1, self.takedown: 5,
            self.misspell: 2, self.retract: 2, self.prove: 6, self.settle: 4, self.erase: 3, self.release: 5,
            self.withdraw: 2, self.gc: 3, self.verify: 2, self.kill: 4,
        }  # fmt: skip
        for step in self._random.choices(list(likely), list(likely.values()), k=count):
            yield step.__name__
            try:
                step()
                self.check_raw()
                self.check_releases()
            except WrongWalkError:
                raise
            except Exception as error:
                raise WrongWalkError("\n".join([f"{step.__name__}: {error!r}", *self.log])) from error


def _plain(data: bytes) -> str:
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode(errors="replace")
