import json
import re
from pathlib import Path

import dagster as dg
import numpy as np
import pytest
from testkit import SHELVES
from wholelake import WORDS, make_whole, table

from assets.support.facts.pictures import markdown_image
from assets.support.facts.score_facts import in_words, score_facts, short_facts, without_empty_columns
from gristmill.lake.ledger.derived import examples_path
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.tagger import Tagger
from gristmill.scores.statistics import number_statistics


@pytest.mark.slow
def test_dagster_gets_plots_quantiles_and_pointers_but_no_text(tmp_path: Path) -> None:
    mill = make_whole(tmp_path / "lake")
    tagger = find_recipe("taggers", Tagger, SHELVES, "words-1")
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
    facts = score_facts(
        mill.store, WORDS, table(mill, WORDS), find_recipe("taggers", Tagger, SHELVES, "words-1").labels
    )
    assert facts["scores"].startswith("not described: blocklists/broken.jsonl")


@pytest.mark.parametrize("numbers", [[1.0] * 20, [0.0] * 19 + [1.0], [0.0] + [1.0] * 19, [0.5, -0.25], [-0.3], [0.9]])
def test_the_words_of_a_label_are_true_of_any_ties(numbers: list[float]) -> None:
    label = number_statistics("share", "score", np.array(numbers), np.arange(len(numbers)), "a")
    found = re.search(
        r"at least half of (\d+) rows are about (\S+) or less, at least 1 in 20 about (\S+) or more",
        in_words([label]),
    )
    assert found is not None
    half, most = float(found[2]), float(found[3])
    assert int(found[1]) == len(numbers)
    assert 2 * sum(each - 0.016 * abs(each) <= half for each in numbers) >= len(numbers)
    assert 20 * sum(each + 0.016 * abs(each) >= most for each in numbers) >= len(numbers)


def test_the_commonest_label_comes_first_whatever_its_name() -> None:
    rare, common = (
        number_statistics(name, "score", np.ones(rows), np.arange(rows), "a") for name, rows in (("a", 2), ("b", 9))
    )
    assert re.findall(r"[*]{2}(\w)[*]{2}", str(short_facts([rare, common]).value)) == ["b", "a"]


def test_a_column_that_no_label_fills_is_left_out() -> None:
    rows: list[dict[str, str | float | None]] = [{"label": "a", "spans": None}, {"label": "b", "spans": None}]
    assert without_empty_columns(rows) == [{"label": "a"}, {"label": "b"}]
    rows[1]["spans"] = 2.0
    assert without_empty_columns(rows) == rows


def test_a_name_of_the_data_makes_no_other_image_in_a_picture() -> None:
    drawn = markdown_image("x](http://a/b.png)![y\\", "<svg/>")
    assert drawn == r"![x\](http://a/b.png)!\[y\\](data:image/svg+xml;base64,PHN2Zy8+)"
