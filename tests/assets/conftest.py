from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import EXPORTING, Works, letters
from testkit import link
from ticking import Daemon

from gristmill.recipes.catalogue import read_catalogue


@pytest.fixture
def works(tmp_path: Path) -> Iterator[Works]:
    """An empty lake with the recipes of tests/support/shelves/dagshelf, and an instance that is gone afterwards."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield Works(tmp_path / "lake", instance)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    """Three letters, taken from raw to tokens and indexes: tests get copies, because making it takes a second."""
    with dg.DagsterInstance.ephemeral() as instance:
        works = Works(tmp_path_factory.mktemp("finished") / "lake", instance)
        works.raw(letters(1, 2, 3))
        works.arrive("letters")
        works.whole()
        yield works


@pytest.fixture
def made(finished: Works, tmp_path: Path) -> Iterator[Works]:
    """A lake of three letters that is made up to tokens and indexes, and an instance that knows it."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield finished.copy(tmp_path / "lake", instance)


@pytest.fixture(scope="session")
def settled(finished: Works, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """The daemon of such a lake, after its first ticks; nothing is asked for."""
    with dg.DagsterInstance.ephemeral() as instance:
        daemon = Daemon(finished.copy(tmp_path_factory.mktemp("settled") / "lake", instance))
        daemon.settle()
        yield daemon


@pytest.fixture
def daemon(settled: Daemon, tmp_path: Path) -> Iterator[Daemon]:
    """A lake of three letters that is made, its tokenizer trained by hand; nothing is asked for."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield settled.copy(settled.works.copy(tmp_path / "lake", instance))


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    """Six letters in two shards, taken from raw to tokens and indexes."""
    with dg.DagsterInstance.ephemeral() as instance:
        works = Works(tmp_path_factory.mktemp("ground") / "lake", instance)
        works.raw(letters(1, 2, 3), "a")
        works.raw(letters(4, 5, 6), "b")
        works.arrive("letters")
        works.whole()
        yield works


@pytest.fixture
def milled(ground: Works, tmp_path: Path) -> Iterator[Works]:
    """A copy of it."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield ground.copy(tmp_path / "lake", instance)


@pytest.fixture(scope="session")
def two_shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole lake of the letters, two shards of the mix; not to be changed."""
    root = tmp_path_factory.mktemp("whole") / "lake"
    with dg.DagsterInstance.ephemeral() as instance:
        made = Works(root, instance)
        made.raw(letters(1, 2, 3), "a")
        made.raw(letters(4, 5, 6), "b")
        made.arrive("letters")
        made.whole()
    return root


@pytest.fixture
def exporting(two_shards: Path, tmp_path: Path) -> Iterator[Works]:
    """That lake in links, with exports: a store puts another file in a file's place, and the etags stay."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield Works(link(two_shards, tmp_path / "lake"), instance, read_catalogue(EXPORTING))
