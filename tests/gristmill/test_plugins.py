"""Plug-ins of an installed package, used by the commands that people give; beside a package that is broken."""

import gzip
import json
from pathlib import Path

import pytest
from songs import Songs, lay

from gristmill.environment import read_environment
from gristmill.plugins import forget_installed_plugins
from resources.engine import engine_resource


@pytest.fixture
def songs(tmp_path: Path) -> Songs:
    return Songs(tmp_path)


def test_a_format_and_a_reader_of_a_package_are_used_proven_and_compared_by_their_code(songs: Songs) -> None:
    assert songs.run("make", "songs")[0] == 0
    index = songs.top / "lake/exports/songs/titles/index"
    release = index.parents[3] / json.loads((index / "release.json").read_text())["folder"]
    assert gzip.decompress((release / "titles.txt.gz").read_bytes()) == b"a.txt = The mill\nb.txt = The stone\n"
    assert (release / "SHA256").read_text().endswith("  titles.txt.gz\n")
    code, said = songs.run("verify", "lake", "--all")
    assert (code, "WRONG" in said) == (0, False), said
    assert "titles.txt.gz: line 2" in songs.run("trace", "lake", "verses", "b.txt")[1]

    songs.edit("titles.py", '"""Titles: a line', '"""Titles: one line')
    assert songs.run("plan", "songs")[0] == 0
    songs.edit("titles.py", "{title}", "{title}!")
    code, said = songs.run("plan", "songs")
    assert (code, "the code of millextras.titles changed since it was made" in said) == (1, True), said
    code, said = songs.run("verify", "lake", "--asset", "exports/songs/titles/verses")
    assert "not proven: the code of its format, millextras.titles, has changed" in said
    assert code == 0, said
    code, said = songs.run("verify", "lake", "--asset", "exports/songs/titles/index")
    assert (code, "other code of its format wrote it" in said) == (1, True), said
    songs.edit("titles.py", "{title}!", "{title}")
    songs.edit("verses.py", "decode()", "decode().lower()")
    code, said = songs.run("plan", "verses")
    assert (code, "the code of songbook.sources.verses" in said) == (1, True), said


def test_a_broken_package_stops_what_asks_for_it_by_name_and_nothing_else(songs: Songs) -> None:
    (songs.site / "odd-1.0.dist-info" / "entry_points.txt").mkdir(parents=True)  # a file that cannot be read
    code, said = songs.run("plugins", "--json")
    found = {(each["kind"], each["name"], each["package"]): each for each in map(json.loads, said.splitlines())}
    assert code == 1
    assert {key: each["problem"].partition("; ")[0].rpartition(": ")[2] for key, each in found.items()} == {
        ("readers", "number", "millbroken"): "millextras.verses:__name__ is not a class below Reader",
        ("readers", "verses", "millbroken"): "the package millextras has this name too",
        ("readers", "verses", "millextras"): "the package millbroken has this name too",
        ("taggers", "verse-lines-1", "millextras"): "",
        ("transforms", "calmer-1", "millextras"): "",
        ("exports", "oscar", "millbroken"): "the package gristmill has this name too",
        ("exports", "titles", "millextras"): "",
        ("exports", "torn", "millbroken"): "0 (it called sys.exit)",
        ("engines", "still", "millbroken"): "0 (it called sys.exit)",
        ("engines", "waterwheel", "millextras"): "",
        ("checks", "terse", "millextras"): "",
        ("checks", "titled", "millextras"): "",
        ("commands", "stop", "millbroken"): "0 (it called sys.exit)",
        ("commands", "tally", "millextras"): "",
        ("asset_kinds", "clusters", "millbroken"): "the package gristmill has this name too",
        ("asset_kinds", "lengths", "millextras"): "",
        ("asset_kinds", "sources", "millbroken"): (
            "millextras.lengths:LengthsKind is not a class below RowsKind with a `recipe`, by a name that no other"
            " folder has"
        ),
        ("asset_kinds", "torn", "millbroken"): "0 (it called sys.exit)",
    }
    torn = found["exports", "torn", "millbroken"]
    assert (torn["version"], torn["value"]) == ("0.1", "millbroken:TornCodec")
    assert f"{songs.site}/millbroken.py, line 5: SystemExit" in torn["problem"]
    code, said = songs.run("plugins", "--all")
    assert "exports      oscar                 gristmill 0" in said
    assert "commands     gc                    gristmill 0" in said


def test_a_command_of_a_package_is_one_of_gristmill(songs: Songs) -> None:
    assert songs.run("tally", "a", "b") == (0, "2\n")
    assert songs.run("tally") == (2, "no words\n")
    code, said = songs.run("stop")
    assert (code, "the plug-in 'stop' (gristmill.commands) of the package millbroken 0.1 cannot be loaded" in said) == (
        2,
        True,
    )
    code, said = songs.run("--help")
    assert (code, "tally" in said, "of the package millextras 1.2" in said) == (0, True, True)
    assert songs.run("grind")[0] == 2


def test_a_tagger_of_a_package_is_on_the_shelf_that_imports_it_and_tried_by_its_name(songs: Songs) -> None:
    assert songs.run("make", "verses")[0] == 0
    assert list(songs.top.glob("lake/sources/verses/v0/attributes/verse-lines-1/1/*"))
    (songs.top / "songbook/taggers/verse_lines.py").unlink()
    code, said = songs.run("try", "verse-lines-1", "verses/v0")
    assert (code, "lines: 3 scores of 3 rows" in said) == (0, True), said


def test_a_transform_of_a_package_is_on_the_shelf_that_imports_it_and_compared_by_its_code(songs: Songs) -> None:
    assert songs.run("make", "calm")[0] == 0
    shards = songs.top.glob("lake/mixes/calm/documents/verses/**/*.jsonl.gz")
    lines = [line for shard in shards for line in gzip.decompress(shard.read_bytes()).splitlines()]
    assert {json.loads(line)["text"] for line in lines} == {"It turns.\n", "It grinds.\n", "It has no title.\n"}
    code, said = songs.run("try", "calmer-1", "verses/v0")
    assert (code, "1 of 3" in said) == (0, True), said
    songs.edit("calmer.py", '"."', '"?"')
    code, said = songs.run("plan", "calm")
    assert (code, "the code of songbook.transforms.calmer changed" in said) == (1, True), said
    (songs.top / "songbook/transforms/calmer.py").unlink()
    code, said = songs.run("plan", "calm")
    line = "a module of your shelf transforms/ that says `from millextras.calmer import CALMER` has it"
    assert (code, line in said) == (2, True), said


def test_an_engine_of_a_package_grinds_all_steps_of_a_run(songs: Songs) -> None:
    told = songs.top / "told"
    code, said = songs.run("make", "songs", "--engine", "waterwheel")
    assert (code, "address is ''; the engine `waterwheel` needs river:FILE" in said) == (2, True), said
    code, said = songs.run("make", "songs", GRISTMILL_ENGINE="waterwheel", GRISTMILL_ENGINE_ADDRESS="elsewhere")
    assert (code, "GRISTMILL_ENGINE_ADDRESS is 'elsewhere'; the engine `waterwheel` needs" in said) == (2, True), said
    code, said = songs.run("make", "songs", "--engine", "waterweel")
    assert (code, "adds 'waterweel' to gristmill.engines; did you mean 'waterwheel'" in said) == (2, True), said
    code, said = songs.run("make", "songs", "--engine", "still")
    assert (code, "the plug-in 'still' (gristmill.engines) of the package millbroken 0.1" in said) == (2, True), said
    assert not told.exists()
    code, said = songs.run("make", "songs", "--engine", "waterwheel", GRISTMILL_ENGINE_ADDRESS=f"river:{told}")
    assert code == 0, said
    assert told.read_text().split() == ["opened", "conversion", "mixing", "export", "closed"]


def test_code_of_a_package_that_ends_the_process_ends_no_command_in_success(songs: Songs) -> None:
    songs.edit(
        "waterwheel.py", "open=lambda _, address: Waterwheel(address)", 'open=lambda *_: __import__("sys").exit(0)'
    )
    songs.edit("titles.py", "    def beside", "    def beside(self, *_):\n        raise SystemExit\n\n    def above")
    river = {"GRISTMILL_ENGINE": "waterwheel", "GRISTMILL_ENGINE_ADDRESS": f"river:{songs.top}/told"}
    for variables, where in [
        (river, "waterwheel.py, line 33: SystemExit: 0"),
        ({}, "titles.py, line 46: SystemExit: "),
    ]:
        code, said = songs.run("make", **variables)
        assert (code, f"the command is not done: {songs.site}/millextras/{where}" in said) == (2, True), said
    songs.edit(
        "tally.py", "def run(arguments: Namespace) -> int:", "def run(arguments: Namespace) -> int:\n    exit(3)"
    )
    assert songs.run("tally") == (3, "")  # a command may leave so


def test_an_engine_of_a_package_that_leaves_ends_no_make_in_success(songs: Songs) -> None:
    songs.edit("waterwheel.py", "return Inline().map(job, items)", "raise SystemExit(0)")
    code, said = songs.run(
        "make", "songs", "--engine", "waterwheel", GRISTMILL_ENGINE_ADDRESS=f"river:{songs.top}/told"
    )
    assert (code, "(1): the engine Waterwheel, its map(): SystemExit: 0" in said) == (1, True), said


def test_a_run_of_dagster_may_choose_an_engine_of_a_package_that_can_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(lay(tmp_path / "site"))
    forget_installed_plugins()
    try:
        environment = read_environment({"GRISTMILL_ENGINE": "waterwheel", "GRISTMILL_ENGINE_ADDRESS": "river:/told"})
        schema = engine_resource(environment).config_schema.as_field().config_type.fields["kind"]  # type: ignore[attr-defined]
        assert [each.config_value for each in schema.config_type.enum_values] == [
            "dask",
            "inline",
            "local",
            "ray",
            "waterwheel",
        ]
        assert schema.default_value == "waterwheel"
    finally:
        monkeypatch.undo()
        forget_installed_plugins()


def test_a_check_of_a_package_refuses_and_warns_and_is_run_again_by_an_audit(songs: Songs) -> None:
    code, said = songs.run("make", "songs", MILLEXTRAS_LINES="1")
    told = "sources/verses/v0/documents: not published: terse: the longest text has 1 lines; 0 are allowed"
    assert code == 0, said
    assert "warning: sources/verses/v0/documents (1): titled: documents of 3 shards" in said
    note = songs.top / "lake/mixes/songs/ledgers/verses/1.run.json"
    assert json.loads(note.read_text())["checks"] == ["terse"]
    asset = "sources/verses/v0/documents"
    code, said = songs.run("verify", "lake", "--asset", asset)
    assert (code, "titled: documents of 3 shards" in said) == (0, True), said
    code, said = songs.run("verify", "lake", "--asset", asset, MILLEXTRAS_LINES="0")
    assert (code, "terse: the longest text has 1 lines; 0 are allowed" in said) == (1, True), said

    (songs.top / "lake/sources/verses/raw/1/d.txt").write_text("The wheel\nIt stops.\n")
    code, said = songs.run("make", "verses", MILLEXTRAS_LINES="0")
    assert (code, told in said) == (1, True), said
    code, said = songs.run("make", "verses", MILLEXTRAS_LINES="none")
    assert code == 1
    assert (
        "terse: the plug-in 'terse' (gristmill.checks) of the package millextras 1.2: it failed: ValueError: " in said
    )
    assert "millextras/terse.py, line " in said
    assert songs.run("verify", "lake", "--asset", asset, MILLEXTRAS_LINES="none")[0] == 1
    points = songs.site / "millextras-1.2.dist-info" / "entry_points.txt"
    whole = points.read_text()
    points.write_text(whole.replace("terse:TERSE", "terse:NONE"))
    code, said = songs.run("make", "verses")
    assert (code, "millextras.terse:NONE is not an AddedCheck of this name" in said) == (1, True), said
    points.write_text(whole.partition("[gristmill.checks]")[0])
    assert songs.run("make", "songs")[0] == 0
    code, said = songs.run("verify", "lake", "--asset", "mixes/songs", MILLEXTRAS_LINES="0")
    assert (code, "terse" in said) == (0, False), said
