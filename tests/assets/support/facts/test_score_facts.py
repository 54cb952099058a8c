import json
from pathlib import Path

import dagster as dg
import pytest
from testkit import SHELVES
from wholelake import WORDS, make_whole, table

from assets.support.facts.pictures import picture
from assets.support.facts.score_facts import filled, score_facts
from gristmill.lake.ledger.derived import examples_path
from gristmill.recipes.shelf import find
from gristmill.recipes.tagger import Tagger


@pytest.mark.slow
def test_dagster_gets_plots_quantiles_and_pointers_but_no_text(tmp_path: Path) -> None:
    mill = make_whole(tmp_path / "lake")
    tagger = find("taggers", Tagger, SHELVES, "words-1")
    facts = score_facts(mill.store, WORDS, table(mill, WORDS), tagger.labels)
    assert facts["scores"].value.count("](data:image/svg+xml;base64,") == 3
    count, *_ = facts["labels"].records
    assert (count.data["label"], count.data["50%"], count.data["most"]) == ("count", "3", "5")
    assert facts["extremes"].records[0].data == {
        "label": "count",
        "end": "lowest",
        "value": 1.0,
        "shard": "a",
        "row": 0,
    }
    assert facts["examples"] == dg.MetadataValue.path(f"{mill.store.url}/{examples_path(WORDS)}")
    kept = json.dumps([str(value) for value in facts.values()])
    assert "doc-000" not in kept
    assert "word word" not in kept


@pytest.mark.slow
def test_what_cannot_be_described_is_told_and_stops_nothing(tmp_path: Path) -> None:
    mill = make_whole(tmp_path / "lake")
    mill.store.put("blocklists/broken.jsonl", b"{")
    facts = score_facts(mill.store, WORDS, table(mill, WORDS), find("taggers", Tagger, SHELVES, "words-1").labels)
    assert facts["scores"].startswith("not described: blocklists/broken.jsonl")


def test_a_column_that_no_label_fills_is_left_out() -> None:
    rows: list[dict[str, str | float | None]] = [{"label": "a", "spans": None}, {"label": "b", "spans": None}]
    assert filled(rows) == [{"label": "a"}, {"label": "b"}]
    rows[1]["spans"] = 2.0
    assert filled(rows) == rows


def test_a_name_of_the_data_makes_no_other_image_in_a_picture() -> None:
    drawn = picture("x](http://a/b.png)![y\\", "<svg/>")
    assert drawn == r"![x\](http://a/b.png)!\[y\\](data:image/svg+xml;base64,PHN2Zy8+)"
