"""Every package that is imported is declared in pyproject.toml, and every one that is declared is pinned."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from syntax import statements

from gristmill.extras import EXTRAS as EXTRAS_OF_PACKAGES

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DEPENDENCIES: list[str] = PROJECT["project"]["dependencies"]
BY_EXTRA: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
EXTRAS = [each for each in chain.from_iterable(BY_EXTRA.values()) if not each.startswith("gristmill[")]
ALL = [each for name in re.findall(r"\w+", BY_EXTRA["all"][0])[1:] for each in BY_EXTRA[name]]
TESTS: list[str] = PROJECT["dependency-groups"]["test"]
PRODUCT = ("gristmill", "resources", "assets", "sensors", "definitions.py")
BESIDE = ("tests", "scripts", "bench")
OURS = {
    path.stem
    for folder in PROJECT["tool"]["pytest"]["ini_options"]["pythonpath"]
    for path in (ROOT / folder).iterdir()
    if path.is_dir() or path.suffix == ".py"
}
"""Modules that the checkout itself holds."""


def canonical(requirement: str) -> str:
    """The name in a requirement, as package indexes compare names."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """The packages that a file imports anywhere in it, and where; neither Python's own nor ours."""
    for node in statements(ast.parse(path.read_text())):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for top in (name.partition(".")[0] for name in names):
            if top not in sys.stdlib_module_names and top not in OURS:
                yield top, node.lineno


NAMED_OTHERWISE = {"PIL": ["pillow"]}
"""Packages of extras whose distribution has another name. They need not be installed where these tests run."""


def undeclared(path: Path, declared: set[str], installed: Mapping[str, list[str]], mend: str) -> Iterator[str]:
    """What a file imports without a declaration."""
    for package, line in imported(path):
        names = installed.get(package) or NAMED_OTHERWISE.get(package, [package])
        distributions = set(map(canonical, names))
        if not distributions & declared:
            yield f"{path}:{line}: {package} is of {' or '.join(sorted(distributions))}, which {mend}"


@pytest.mark.parametrize(
    ("rooms", "requirements", "where"),
    [
        (PRODUCT, [*DEPENDENCIES, *EXTRAS], "[project] dependencies"),
        (BESIDE, [*DEPENDENCIES, *EXTRAS, *TESTS], "[dependency-groups] test"),
    ],
    ids=["product", "tests"],
)
def test_every_imported_package_is_declared(rooms: tuple[str, ...], requirements: list[str], where: str) -> None:
    declared, installed = set(map(canonical, requirements)), packages_distributions()
    mend = f"pyproject.toml does not declare: add it to {where}, then run make lock"
    files = [
        path for room in rooms for path in ([ROOT / room] if room.endswith(".py") else (ROOT / room).rglob("*.py"))
    ]
    assert len(files) > len(rooms)
    assert [line for path in files for line in undeclared(path, declared, installed, mend)] == []


def test_23_packages_are_brought_at_most() -> None:
    assert len(DEPENDENCIES) <= 23


def test_every_package_that_is_not_always_brought_has_its_extra() -> None:
    hard, installed = set(map(canonical, DEPENDENCIES)), packages_distributions()
    files = [path for room in PRODUCT if "." not in room for path in (ROOT / room).rglob("*.py")]
    found: dict[str, set[str]] = {}
    for package in {package for path in files for package, _ in imported(path)}:
        names = set(map(canonical, installed.get(package) or NAMED_OTHERWISE.get(package, [package])))
        if not names & hard:
            found[package] = {extra for extra, each in BY_EXTRA.items() if names & set(map(canonical, each))}
    assert {package: {extra} for package, extra in EXTRAS_OF_PACKAGES.items()} == found


def test_an_undeclared_import_is_named_with_its_file_line_and_mend(tmp_path: Path) -> None:
    path = tmp_path / "guilty.py"
    path.write_text("import json\n\ndef f():\n    import Some_Package.part\n    from known import thing\n")
    installed = {"Some_Package": ["Some.Dist"], "known": ["Known-Dist"]}
    found = list(undeclared(path, {"known-dist"}, installed, "must be declared"))
    assert found == [f"{path}:4: Some_Package is of some-dist, which must be declared"]


@pytest.mark.parametrize(
    ("file", "requirements"),
    [("app", [*DEPENDENCIES, *ALL]), ("extras", [*DEPENDENCIES, *EXTRAS]), ("test", [*DEPENDENCIES, *ALL, *TESTS])],
    ids=["app", "extras", "test"],
)
def test_every_declared_package_is_pinned_within_its_bounds(file: str, requirements: list[str]) -> None:
    lines = (ROOT / "requirements" / f"{file}.txt").read_text().splitlines()
    pins = {
        canonical(name): version.split()[0] for name, _, version in (line.partition("==") for line in lines) if version
    }
    for requirement in requirements:
        pin = pins.get(canonical(requirement))
        assert pin, f"requirements/{file}.txt does not pin {requirement}: run make lock"
        bound = re.search(r"(==|>=)([\w.]+)(?:,<([\w.]+))?$", requirement)
        assert bound, f"{requirement} has no bound"
        fits = pin == bound[2] if bound[1] == "==" else numbers(pin) >= numbers(bound[2])
        fits = fits and (bound[3] is None or numbers(pin) < numbers(bound[3]))
        assert fits, f"requirements/{file}.txt pins {pin}, but pyproject.toml asks for {requirement}: run make lock"


LOCKS = sorted([*(ROOT / "requirements").iterdir(), *(ROOT / "bench" / "harness").glob("requirements-*.txt")])
"""All files that pip installs, or `acquire` downloads, packages from."""


def unhashed(text: str) -> list[str]:
    """The lines of a lock that do not fix the bytes of a package: options, addresses, and pins without a digest."""
    lines = re.sub(r"#.*", "", text).replace("\\\n", " ").splitlines()
    fixed = re.compile(r"[A-Za-z0-9._\[\]-]+==[^\s;*]+\s*(;[^#]*?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*")
    return [line for line in lines if line.strip() and not fixed.fullmatch(line)]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_file_of_requirements_is_hashed(path: Path) -> None:
    assert path.suffix == ".txt"
    assert unhashed(path.read_text()) == []


@pytest.mark.parametrize(
    "line",
    [
        "jax==0.10.*",
        "jax",
        "jax==0.10.1",
        "jax>=1 --hash=sha256:" + "0" * 64,
        "--index-url x",
        "https://host/a.whl",
        "-e .",
    ],
)
def test_a_line_that_fixes_no_bytes_is_found(line: str) -> None:
    assert unhashed(f"# a comment\nfine==1.0 ; python_version < '4' --hash=sha256:{'0' * 64}\n{line}\n") == [line]


def test_whatever_installs_asks_for_hashes() -> None:
    told = [path for room in ("scripts", "bench", "tests", "gristmill") for path in (ROOT / room).rglob("*.py")]
    for path in (ROOT / "Makefile", *told):
        if path == Path(__file__):
            continue
        # `pip install x` between backquotes is advice in a message: people run it, not we
        for found in re.finditer(r'(?<!`)pip install|"pip", "install"', path.read_text()):
            after = path.read_text()[found.start() : found.start() + 300]
            assert "--require-hashes" in after, f"{path.relative_to(ROOT)}: {after.splitlines()[0]}"


def numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
