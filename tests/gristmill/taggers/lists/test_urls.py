from pathlib import Path
from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Tagger
from gristmill.taggers.lists.urls import url_list


def document(**metadata: Any) -> Document:
    return Document(id="a", text="text", source="s", metadata=metadata)


@pytest.fixture
def adult(tmp_path: Path) -> Path:
    (tmp_path / "domains").write_text("adult.example\n0.0.0.0 ads.example\n||old.example^\n")
    (tmp_path / "urls").write_text("mixed.example/adult\n")
    return tmp_path


def opened(path: Path, **options: Any) -> Tagger:
    return url_list("adult-1", models=("adult-hosts-1",), **options).opened({"adult-hosts-1": path})


def test_hosts_and_pages_are_looked_up(adult: Path) -> None:
    urls = [
        "http://www.adult.example/",
        "https://a.ads.example/x",
        "http://mixed.example/adult/1",
        "http://mixed.example/",
    ]
    labels = opened(adult).look([document(url=url) for url in urls])
    assert labels == {"listed": [1.0, 1.0, 1.0, 0.0], "host": [1.0, 1.0, 0.0, 0.0], "page": [0.0, 0.0, 1.0, 0.0]}


def test_a_document_without_a_url_has_no_label(adult: Path) -> None:
    without = [
        Document(id="a", text="", source="s"),
        Document(id="b", text="", source="s", metadata=None),
        document(),
        document(url=None),
        document(url=7),
        document(url="mailto:ada@adult.example"),
    ]
    assert opened(adult).look(without)["listed"] == [None] * 6


def test_the_first_key_with_a_string_counts(adult: Path) -> None:
    warc = {"WARC-Target-URI": "<http://adult.example/>"}
    look = [document(**warc), document(url="http://b.example", **warc), document(url="", **warc), document(link="x.y")]
    assert opened(adult).look(look)["listed"] == [1.0, 0.0, 1.0, None]
    assert opened(adult, keys=("link",)).look([document(link="ads.example")])["listed"] == [1.0]


def test_hosts_alone_without_those_below_them(adult: Path) -> None:
    urls = ["http://www.adult.example/", "http://a.adult.example/"]
    assert opened(adult, below=False).look([document(url=url) for url in urls])["host"] == [1.0, 0.0]


def test_a_list_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("# nothing\n")
    with pytest.raises(RecipeError, match="no entries"):
        opened(path)
    path.write_text("a.example\nnot a host\n")
    with pytest.raises(RecipeError, match=r"list\.txt:2: 'not a host' is no host"):
        opened(path)
