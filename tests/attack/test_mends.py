"""Whoever does what `verify` says, and nothing else, has a lake that is proven again."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster_kit import letters
from testkit import Mill, link, packed

from gristmill.__main__ import main
from gristmill.api import verify
from gristmill.execution.finding import Finding
from gristmill.lake.address import blocklist_path
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.tokenization.training import make_tokenizer

ROUNDS = 4
"""How often one reads the findings: what one mend brings to light, the next one mends."""
NOT_BY_COMMAND = ("tokenizers/",)
"""What a person restores from a copy."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mill]:
    """Two raw shards of letters, their mix, its tokens and both indexes, by the commands that people type."""
    mill = Mill(tmp_path_factory.mktemp("made"))
    variables = {"LAKE": str(mill.root), "SHELVES": "dagshelf", "ENGINE": "inline", "WORKERS": "1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(f"GRISTMILL_{name}", value)
        mill.store.put(blocklist_path("takedowns"), b"")
        for name, numbers in (("a", (1, 2, 3)), ("b", (4, 5))):
            mill.raw(f"{name}.jsonl.gz", packed(letters(*numbers)), "letters", "2024")
        assert [main(["make", "-", what]) for what in ("letters", "blend")] == [0, 0]
        tokenizers = read_catalogue(("gristmill", "dagshelf")).tokenizers
        make_tokenizer(mill.store, tokenizers["tiny-1"], mill.said.append)
        assert main(["make", "-", "blend"]) == 0
        assert list(verify(mill.lake)) == []
        yield mill


def obey(mill: Mill, finding: Finding) -> None:
    """Does what a finding says."""
    if finding.mend.startswith(("remove it", f"remove {finding.path},")):
        mill.store.delete([finding.path])
    _, _, command = finding.mend.partition("`python -m gristmill ")
    if command:
        assert main(shlex.split(command.partition("`")[0])) == 0, finding


def why_not_mended(mill: Mill) -> str:
    """What is still wrong after all rounds; empty if the lake is proven."""
    for _ in range(ROUNDS):
        found = next(verify(mill.lake), None)
        if found is None:
            return ""
        obey(mill, found)
    return str(next(verify(mill.lake), ""))


@pytest.mark.parametrize("damage", ["deleted", "cut", "swapped"])
def test_every_object_is_made_again_by_what_its_finding_says(made: Mill, tmp_path: Path, damage: str) -> None:
    clean = made.tree()
    objects = [path for path in clean if "/raw/" not in path and not path.startswith((*NOT_BY_COMMAND, "blocklists/"))]
    wrong: list[str] = []
    for number, path in enumerate(objects):
        mill = Mill(link(made.root, tmp_path / str(number)))
        before = mill.tree()
        data = {"deleted": None, "cut": before[path][:-1], "swapped": before[objects[number - 1]]}[damage]
        mill.store.delete([path]) if data is None else mill.store.put(path, data)
        told = why_not_mended(mill)
        other = sorted(each for each in before if mill.tree().get(each) != before[each])
        wrong += [f"{path}: {told or other}"] if told or other else []
    assert wrong == [], "\n".join(wrong)
