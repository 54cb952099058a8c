"""The table of asset kinds: addresses and ledgers there and back, and that nobody else tells kinds apart."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gristmill.lake import address
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import (
    ATTRIBUTES,
    CLUSTERS,
    DOCUMENTS,
    EXPORT,
    FINGERPRINTS,
    HASH_RUNS,
    KINDS,
    MARKS,
    MIX,
    PARTITIONED,
    TOKEN_CACHE,
    TOKENIZER,
    VERDICTS,
    blocking_checks_of_asset,
    kind_of,
    kinds_made_from,
    ledgers_folder,
    names_in_asset_address,
    report_rank,
)

ROOT = Path(__file__).resolve().parents[3]
NAMES = {
    "source": "wiki",
    "version": "v1",
    "set": "toxicity-1",
    "blocklist": "takedowns",
    "labels": "remarks",
    "model": "rude-1",
    "mix": "blend",
    "stream": "letters",
    "tokenizer": "neox-1",
    "export": "tarballs",
    "dedupe": "dedupe-documents-1",
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_address_is_of_its_own_kind_and_of_no_other(kind: AssetKind) -> None:
    asset = kind.at(**NAMES)
    assert kind_of(asset) is kind
    assert kind.at(**names_in_asset_address(asset)) == asset
    assert [each for each in KINDS if each.names(asset) is not None] == [kind]
    assert names_in_asset_address(asset).items() <= NAMES.items()


@pytest.mark.parametrize("kind", PARTITIONED, ids=lambda kind: kind.name)
def test_a_partition_is_found_again_from_its_ledger_which_lies_where_ledgers_are_listed(kind: AssetKind) -> None:
    here = address.place(kind.at(**NAMES), "2024-12")
    assert address.place_of_ledger(here.ledger) == here
    assert here.kind is kind
    assert here.ledger.startswith(ledgers_folder(here.asset))
    assert here.ledger.startswith(address.ledger_folder(here.asset))


@pytest.mark.parametrize(
    "asset",
    [
        "",
        "wiki",
        "sources",
        "sources/wiki",
        "sources/wiki/1/documents",
        "sources/wiki/v1/documents/2024",
        "sources/wiki/v1/attributes",
        "sources//v1/documents",
        "mixes/blend/documents/index",
        "token_caches/blend/neox-1/ledgers",
        "exports/blend/tarballs/raw",
        "exports/blend",
        "mixes/blend/documents/letters\n/x",
    ],
)
def test_what_is_no_address_is_of_no_kind(asset: str) -> None:
    assert kind_of(asset) is None
    assert names_in_asset_address(asset) == {}
    assert blocking_checks_of_asset(asset) == ()


def test_the_folders_of_a_partition_are_those_of_the_design() -> None:
    def folders(kind: AssetKind) -> tuple[str, ...]:
        return address.place(kind.at(**NAMES), "2024").folders

    assert folders(DOCUMENTS) == (
        "sources/wiki/v1/documents/2024/",
        "sources/wiki/v1/ledgers/documents/2024.ids/",
        "sources/wiki/v1/quarantine/2024/",
    )
    assert folders(ATTRIBUTES) == (
        "sources/wiki/v1/attributes/toxicity-1/2024/",
        "sources/wiki/v1/ledgers/attributes/toxicity-1/2024.ids/",
    )
    assert folders(MIX) == ("mixes/blend/documents/letters/2024/", "mixes/blend/ledgers/letters/2024.ids/")
    assert folders(TOKEN_CACHE) == (
        "token_caches/blend/neox-1/letters/train/2024/",
        "token_caches/blend/neox-1/letters/validation/2024/",
    )
    assert folders(EXPORT) == ("exports/blend/tarballs/letters/2024/",)


def test_a_part_is_found_from_the_path_of_any_of_its_objects() -> None:
    cache = "token_caches/blend/neox-1/letters"
    folder = f"{cache}/train/2024/part-00001-ab12/"
    assert address.part_at(f"{folder}input_ids/data/c/0") == (address.place(cache, "2024"), folder)
    export = "exports/blend/tarballs/letters"
    assert address.part_at(f"{export}/2024/part-0-a/x.tar") == (
        address.place(export, "2024"),
        f"{export}/2024/part-0-a/",
    )
    for path in (
        f"{cache}/train/2024/x.json",
        f"{cache}/2024/part-00001-ab12/x",  # a cache's parts lie below a split
        f"{cache}/train/shard_ledger.json",
        f"{export}/2024/part-0-a",
        "exports/blend/tarballs/index/2024/part-0-a/x",
        "mixes/blend/documents/letters/2024/part-0-a/x",
    ):
        assert address.part_at(path) is None, path


def test_only_versions_after_the_first_are_compared_with_the_one_before() -> None:
    assert blocking_checks_of_asset("sources/wiki/v0/documents") == ("ids_unique",)
    assert blocking_checks_of_asset("sources/wiki/v12/documents") == ("ids_unique", "ids_stable")
    assert blocking_checks_of_asset("sources/wiki/v1/attributes/toxicity-1") == ("row_alignment",)
    assert blocking_checks_of_asset("mixes/blend/documents/letters") == ("blocklist_respected",)
    assert blocking_checks_of_asset("token_caches/blend/neox-1/letters") == ("cache_complete",)
    assert blocking_checks_of_asset("token_caches/blend/neox-1/index") == ()
    assert blocking_checks_of_asset("exports/blend/tarballs/letters") == ("export_complete",)


def test_assets_are_ranked_after_what_they_are_made_from() -> None:
    order = [
        "sources/a/v0/documents",
        "sources/a/v0/attributes/t-1",
        "sources/b/v0/documents",
        "sources/a/v1/documents",
        "sources/a/v10/documents",
        "mixes/a/documents/x",
        "mixes/a/index",
        "mixes/b/documents/x",
        "tokenizers/a",
        "token_caches/a/t-1/x",
        "token_caches/a/t-1/index",
        "exports/a/e/x",
        "exports/a/e/index",
        "elsewhere",
    ]
    backwards = order[::-1]
    assert sorted(backwards, key=report_rank) == order


def test_what_may_be_made_from_a_kind() -> None:
    dedupe = (FINGERPRINTS, HASH_RUNS, VERDICTS, CLUSTERS, MARKS)
    assert kinds_made_from(ATTRIBUTES) == (DOCUMENTS, ATTRIBUTES, *dedupe, MIX, TOKEN_CACHE, EXPORT)
    assert kinds_made_from(MIX) == (MIX, TOKEN_CACHE, EXPORT)
    assert kinds_made_from(EXPORT) == (EXPORT,)


TABLE = ROOT / "gristmill/lake/asset_kinds.py"
FILES = sorted(
    path
    for room in ("gristmill", "resources", "assets", "sensors", "scripts")
    for path in (ROOT / room).rglob("*.py")
    if path != TABLE
)
PATHS_OF_OBJECTS = {
    "gristmill/dolma/dedupe/config.py": "names of attributes, as Dolma writes them",
    "gristmill/dolma/dedupe/files.py": "paths of files",
    "gristmill/dolma/tagging/inputs.py": "paths of files",
    "gristmill/templates/new_project.py": "paths in a project",
    "gristmill/templates/new_recipe.py": "paths in a project",
    "gristmill/dagster_components.py": "paths in a project",
    "gristmill/formats/tar/keys.py": "names of media",
    "gristmill/lake/address.py": "names of shards",
    "gristmill/text/desktop_names.py": "names of files",
    "gristmill/lake/store/folder.py": "paths of objects",
    "gristmill/lake/store/disk/real_folders.py": "paths of objects",
    "gristmill/lake/store/plain_files.py": "paths of objects",
    "gristmill/lake/store/protocol.py": "paths of objects",
    "gristmill/energon/preparing/dataset.py": "paths of tars",
    "gristmill/raw_data/inventory.py": "paths of objects",
    "gristmill/raw_data/roots.py": "folders of raw data",
    "gristmill/raw_data/scan.py": "paths of objects",
    "gristmill/raw_data/shard_names.py": "names of shards",
    "gristmill/readers/code/code_files.py": "names in an archive",
    "gristmill/readers/zip_archive.py": "names in an archive",
    "gristmill/recipes/raw_object.py": "names of raw objects",
    "gristmill/recipes/raw_rules.py": "names of raw objects",
    "gristmill/recipes/source.py": "names of raw objects",
    "gristmill/stages/adoption/step.py": "folders of raw data",
    "gristmill/stages/conversion/links.py": "paths of raw objects",
    "gristmill/dolma/tagging/paths.py": "Dolma's folders, which lie in no lake",
    "gristmill/stages/cache_index/index.py": "paths of objects",
    "assets/support/keys.py": "Dagster's key of an address",
    "scripts/backfill.py": "Dagster's key of an address",
    "scripts/server.py": "Dagster's key of an address",
}
"""Who may cut at slashes, and what."""
PATTERNS = [pattern for kind in KINDS for pattern in (kind.address, kind.ledger, kind.quarantine)]
FOLDERS = {word for pattern in PATTERNS for word in pattern.split("/") if re.fullmatch("[a-z_]+", word)}
LEADS = tuple(sorted({f"{word}/" for word in (kind.top_folder.rstrip("/") for kind in KINDS)}))
COMPARING = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "find"}


def texts(node: ast.AST) -> Iterator[str]:
    """The string constants in an expression, tuples of them included."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def docstrings(tree: ast.AST) -> set[ast.AST]:
    """The strings that stand alone, as docstrings do."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def compared(node: ast.AST) -> Iterator[str]:
    """The constants that a node compares something with."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in COMPARING:
        yield from (text for each in node.args for text in texts(each))
    elif isinstance(node, ast.Compare):
        yield from (text for each in (node.left, *node.comparators) for text in texts(each))


def cuts(node: ast.AST) -> bool:
    """Whether it is `split("/")` or `count("/")` of something."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in {"split", "count"} and list(texts(ast.Tuple(node.args))) == ["/"]


def offences(source: str, *, may_cut: bool = False) -> Iterator[str]:
    """What in a module tells assets apart by itself: line and why."""
    tree = ast.parse(source)
    alone = docstrings(tree)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in alone:
            if node.value.startswith(LEADS):
                yield f"{line}: {node.value!r} is the begin of an address"
        elif isinstance(node, ast.MatchSequence):
            found = [text for each in node.patterns for text in texts(each) if text in FOLDERS]
            yield from (f"{line}: matches the folder {text!r}" for text in found)
        elif cuts(node) and not may_cut:
            yield f"{line}: cuts at slashes"
        for text in compared(node):
            if "/" in text and text.strip("/") in FOLDERS:
                yield f"{line}: compares with the folder {text!r}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_kinds_are_told_apart_by_the_table_alone(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    found = [f"{name}:{each}" for each in offences(path.read_text(), may_cut=name in PATHS_OF_OBJECTS)]
    if name == "gristmill/readers/records.py":  # an id is what follows the last /raw/ of the path: ids never change
        found = [each for each in found if not each.endswith("compares with the folder '/raw/'")]
    assert not found, "ask gristmill/lake/asset_kinds.py instead: " + "; ".join(found)


@pytest.mark.parametrize(
    "code",
    [
        'asset.startswith("token_caches/")',
        'asset.startswith(("mixes/", "x"))',
        'asset.endswith("/documents")',
        '"/attributes/" in asset',
        'asset.partition("/index/")',
        'asset.split("/")[1]',
        'asset.count("/") == 3',
        'f"exports/{mix}/x"',
        'match parts:\n    case ["tokenizers", name]:\n        pass',
    ],
)
def test_what_tells_kinds_apart_elsewhere_is_found(code: str) -> None:
    assert list(offences(code))


@pytest.mark.parametrize(
    "code", ['"""sources/<source>/raw"""', 'asset.split(",")', 'group == "tokenizers"', 'f"{a}/{b}"']
)
def test_what_does_not_is_left_alone(code: str) -> None:
    assert not list(offences(code))


DEDUPE = ("recipes", "stages/fingerprints", "stages/dedupe", "stages/near_duplicates")


def test_only_the_stages_of_a_dedupe_and_recipes_name_its_kinds_that_nobody_else_reads() -> None:
    others = [p for p in FILES if (ROOT / "gristmill") in p.parents]
    others = [p for p in others if not any((ROOT / "gristmill" / room) in p.parents for room in DEDUPE)]
    found = [
        f"{path.relative_to(ROOT)}: {node.id}"
        for path in others
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name) and node.id in {"FINGERPRINTS", "HASH_RUNS", "VERDICTS"}
    ]
    assert not found, "ask gristmill/stages/kind.py, or a function of the stage: " + "; ".join(found)


def test_every_file_that_may_cut_is_there() -> None:
    assert [name for name in PATHS_OF_OBJECTS if not (ROOT / name).exists()] == []
    assert TOKENIZER.names_of_ledger("tokenizers/neox-1/ledger.json") == {"tokenizer": "neox-1"}
