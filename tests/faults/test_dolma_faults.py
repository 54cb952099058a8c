"""`gristmill dolma mix`, `dedupe` and `tag` die before each of their changes, then run again, or with other sizes.

A run that ends with exit code 0 has left the files of an undisturbed run, and no others.
"""

import gzip
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from dying import Child, deaths

from gristmill.__main__ import main
from gristmill.dolma.tagging.records import FOLDER, MANIFEST

Words = list[str]

ROWS = {"0": ["one", "two"], "1": ["two", "three"], "2": ["four", "one"]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ROWS:
        write(tmp_path, name)
    return tmp_path


def write(home: Path, name: str) -> None:
    path = home / f"documents/{name}.json.gz"
    path.parent.mkdir(exist_ok=True)
    rows = [{"id": f"{name}{number}", "text": text, "source": "s"} for number, text in enumerate(ROWS[name])]
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0))


def configured(home: Path, name: str, config: Mapping[str, Any]) -> Words:
    path = home / f"{name}.json"
    path.write_text(json.dumps(config))
    return ["-c", str(path)]


def mix(home: Path, files: int) -> Words:
    """A mix with one output for each so many files of documents."""
    size = files * (home / "documents/0.json.gz").stat().st_size + 2
    output = {"path": f"{home}/out", "max_size_in_bytes": size}
    stream = {"name": "s", "documents": [f"{home}/documents/*.gz"], "output": output}
    return ["dolma", "mix", *configured(home, f"mix{files}", {"streams": [stream], "processes": 1})]


def dedupe(home: Path, longest: int) -> Words:
    """Paragraphs of at least so many characters, and their keys."""
    options = {"name": "p", "paragraphs": {"attribute_name": "dup"}, "min_length": longest}
    bloom = {"file": f"{home}/attributes/keys", "read_only": False}
    config = {"documents": [f"{home}/documents/*.gz"], "dedupe": options, "bloom_filter": bloom}
    return ["dolma", "dedupe", *configured(home, f"dedupe{longest}", config)]


def tag(home: Path, taggers: int) -> Words:
    names = ["char_length_v1", "doc_count_v1"][:taggers]
    config = {"documents": [f"{home}/documents/*.gz"], "taggers": names, "experiment": "e", "processes": 1}
    return ["dolma", "tag", *configured(home, f"tag{taggers}", config)]


COMMANDS = [(mix, "out", 1, 2), (dedupe, "attributes", 0, 4), (tag, "attributes", 1, 2)]
"""Each command, the folder that it writes to, and two sizes of its options."""


def hidden(path: Path) -> bool:
    return any(part.startswith(".dolma-") for part in path.parts)


def outputs(folder: Path) -> dict[str, bytes]:
    """All files of a folder by name, but those of its records."""
    files = [path for path in folder.rglob("*") if path.is_file() and not hidden(path)]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def records(folder: Path) -> dict[str, Any]:
    """The records of the outputs. The versions of files tell times, so they are left out."""
    found: dict[str, Any] = {}
    for path in folder.rglob("*"):
        if path.is_file() and FOLDER in path.parts and path.name != ".lock":
            record = json.loads(path.read_text())
            del record["digest"]
            for each in record["files"].values():
                del each["version"], each["output"], each["input_sha256"]
            found[path.relative_to(folder).as_posix()] = record
    return found


def emptied(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def undisturbed(folder: Path, words: Words) -> tuple[dict[str, bytes], dict[str, Any]]:
    emptied(folder)
    assert main(words) == 0
    return outputs(folder), records(folder)


@pytest.mark.parametrize(("command", "name", "size", "other"), COMMANDS)
@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_a_run_may_die_before_each_of_its_changes(
    home: Path, command: Callable[[Path, int], Words], name: str, size: int, other: int, every: int
) -> None:
    folder = home / name
    whole, larger = undisturbed(folder, command(home, size)), undisturbed(folder, command(home, other))
    assert whole != larger
    words, changed = command(home, size), command(home, other)
    died = refused = 0
    for died in deaths(folder, lambda: main(words), lambda: emptied(folder), every):
        assert main(words) == 0
        assert (outputs(folder), records(folder)) == whole, f"after the death before change {died}"
    assert died > 20
    for died in deaths(folder, lambda: main(words), lambda: emptied(folder), every):
        code = main(changed)
        if code:
            refused += 1
            assert main([*changed, "--force"]) == 0
        assert (outputs(folder), records(folder)) == larger, f"after the death before change {died}"
        assert main(changed) == 0
    assert 0 < refused < died


@pytest.mark.parametrize(("command", "name", "size", "other"), COMMANDS)
def test_a_finished_run_of_another_size_is_refused_or_replaced_whole(
    home: Path, command: Callable[[Path, int], Words], name: str, size: int, other: int
) -> None:
    folder = home / name
    larger = undisturbed(folder, command(home, other))
    undisturbed(folder, command(home, size))
    assert main(command(home, other)) == 2
    child = Child(lambda: main([*command(home, other), "--force"]), folder, die=9)
    assert child.wait() < 0
    assert main([*command(home, other), "--force"]) == 0
    assert (outputs(folder), records(folder)) == larger
    stamps = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert main(command(home, other)) == 0
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == stamps


def test_what_was_changed_since_is_not_removed(home: Path) -> None:
    assert main(mix(home, 1)) == 0
    mine = home / "out/s-0002.json.gz"
    mine.write_bytes(b"mine")
    assert main([*mix(home, 2), "--force"]) == 2
    assert mine.read_bytes() == b"mine"
    assert (home / "out" / MANIFEST).exists()
