"""`make`: raw to tokens without Dagster, with the engine and the lake of the environment."""

from collections.abc import Sequence

import pytest
from dagster_kit import BLEND_LETTERS, JOURNEY, LETTERS_V0, TINY_LETTERS, letters
from testkit import Mill, packed

from gristmill.__main__ import main
from gristmill.lake.address import blocklist_path, place
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.mixing.index import read_index
from gristmill.stages.tokenization.training import make_tokenizer

SHELVES = ("gristmill", "dagshelf")


class Command:
    """Runs `make` over the lake that the environment names."""

    def __init__(self, mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
        self.mill = mill
        self._capsys = capsys

    def raw(self, numbers: Sequence[int], name: str = "a", snapshot: str = "2024") -> None:
        self.mill.raw(f"{name}.jsonl.gz", packed(letters(*numbers)), "letters", snapshot)

    def __call__(self, *arguments: str) -> tuple[int, list[str], str]:
        """Exit code, lines, and the error."""
        self._capsys.readouterr()
        code = main(["make", "-", *arguments])
        said = self._capsys.readouterr()
        return code, said.out.splitlines(), said.err


@pytest.fixture
def command(mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    for name, value in [("LAKE", str(mill.root)), ("SHELVES", "dagshelf"), ("ENGINE", "inline"), ("WORKERS", "1")]:
        monkeypatch.setenv(f"GRISTMILL_{name}", value)
    mill.store.put(blocklist_path("takedowns"), b"")
    return Command(mill, capsys)


def test_a_source_is_made_from_raw_to_its_sets_and_then_left_alone(command: Command) -> None:
    command.raw((1, 2, 3))
    command.raw((4, 5), "b")
    code, lines, _ = command("letters")
    assert code == 0
    assert lines[0] == f"{LETTERS_V0} (2024): never made"
    made = [line for line in lines if line.startswith("made ")]
    assert made[0] == f"made {LETTERS_V0} (2024): 5 rows in 2 shards"
    assert {line.split(" ")[1] for line in made} >= set(JOURNEY)
    assert lines[-1] == f"{len(made)} partitions made; everything is up to date"
    before = command.mill.stamps()
    assert command("letters") == (0, ["everything is up to date"], "")
    assert command.mill.stamps() == before
    assert main(["plan", "--source", "letters"]) == 1  # the mix is still to be made


def test_only_the_snapshots_that_are_named_are_made(command: Command) -> None:
    command.raw((1, 2))
    command.raw((3, 4), snapshot="2025")
    assert command("letters", "--snapshot", "2025")[0] == 0
    assert command.mill.store.head(place(LETTERS_V0, "2025").ledger) is not None
    assert command.mill.store.head(place(LETTERS_V0, "2024").ledger) is None


def test_a_mix_is_made_to_its_index_with_the_tokenizers_that_are_there(command: Command) -> None:
    command.raw((1, 2, 3))
    assert command("blend")[::2] == (
        2,
        "mix blend: no finished documents to select from; make its sources first\n",
    )
    command("letters")
    code, lines, _ = command("blend")
    assert code == 0
    assert lines[0] == "tokenizers/tiny-1 is not in the lake, so no tokens; make the tokenizer first"
    assert read_index(command.mill.store, "token_caches/blend/tiny-1/index") is None
    make_tokenizer(command.mill.store, read_catalogue(SHELVES).tokenizers["tiny-1"], command.mill.said.append)
    _, lines, _ = command("blend")
    assert [line.split(" ")[1] for line in lines if line.startswith("made ")] == [TINY_LETTERS]
    index = read_index(command.mill.store, "token_caches/blend/tiny-1/index")
    assert index is not None
    assert [each.snapshot for each in index.slices] == ["2024"]
    assert command.mill.store.head(place(BLEND_LETTERS, "2024").ledger) is not None
    assert command("blend") == (0, ["everything is up to date"], "")
    assert main(["plan", "--mix", "blend"]) == 0


INDEX_FILES = (
    "mixes/blend/index/index.json",
    "mixes/blend/index/ledger.json",
    "token_caches/blend/tiny-1/index/data.yaml",
    "token_caches/blend/tiny-1/index/cache_catalog.json",
    "token_caches/blend/tiny-1/index/index.json",
    "token_caches/blend/tiny-1/index/ledger.json",
    "token_caches/blend/tiny-1/letters/train/shard_ledger.json",
)


def test_an_index_that_is_wrong_is_seen_by_plan_and_verify_and_made_again(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.raw((1, 2, 3))
    command("letters")
    command("blend")
    make_tokenizer(command.mill.store, read_catalogue(SHELVES).tokenizers["tiny-1"], command.mill.said.append)
    command("blend")
    store, lake = command.mill.store, command.mill.tree()
    for path in INDEX_FILES:
        address = path.partition("/index/")[0].removesuffix("/letters/train/shard_ledger.json") + "/index"
        for damage in (None, b"{}"):
            store.delete([path]) if damage is None else store.put(path, damage)
            assert main(["plan", "--mix", "blend"]) == 1
            assert f"make     {address}: " in capsys.readouterr().out, path
            assert main(["verify"]) == 1
            assert f"python -m gristmill make {command.mill.root} mixes/blend`" in capsys.readouterr().out, path
            assert command("mixes/blend")[1][0].startswith(f"{address}: written (")
            assert main(["plan", "--mix", "blend"]) == 0
            assert command.mill.tree() == lake


def test_duplicate_ids_are_not_published_and_the_exit_code_is_2(command: Command) -> None:
    command.raw((1, 2))
    command.raw((2, 3), "b")
    code, _, error = command("letters")
    assert code == 2
    assert error.startswith(f"{LETTERS_V0}: not published: ids_unique: 1 ids occur twice; the first: 'letter-2'")
    assert command.mill.store.head(place(LETTERS_V0, "2024").ledger) is None


def test_the_engine_of_the_environment_grinds_unless_another_is_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    command.raw((1, 2))
    monkeypatch.setenv("GRISTMILL_ENGINE", "dask")
    assert command("letters")[::2] == (
        2,
        "GRISTMILL_ENGINE_ADDRESS is ''; the engine `dask` needs tcp://host:8786 or tls://host:8786\n",
    )
    monkeypatch.setenv("GRISTMILL_ENGINE", "inline")
    assert command("letters", "--engine", "dask")[2].startswith("the engine's address is ''")
    assert command("letters", "--engine", "local", "--workers", "0")[2].startswith("--workers 0: give a number")
    assert command("letters", "--engine", "local", "--workers", "2")[0] == 0


def test_a_name_on_no_shelf_is_refused_with_the_known_ones(command: Command) -> None:
    code, _, error = command("letter")
    assert code == 2
    assert error.startswith("'letter' is on no shelf; sources: ")
    assert "letters" in error
    assert "mixes: blend" in error
    assert command("mixes/letters")[0] == 2
