import dagster as dg
import pytest
from dagster_kit import COUNT_V1, LETTERS_V0, LETTERS_V1, MOODY_V1, Works

from assets.support.facts.column_facts import label_schema, lineage_of
from gristmill.recipes.label import Score, Spans
from gristmill.recipes.rules import Rule, field, score
from gristmill.recipes.selection import Selection


def test_declared_labels_are_columns_with_their_meaning_and_bounds() -> None:
    labels: list[Score | Spans] = [
        Score("calm", "how calm", unit="points", low=0, high=1),
        Spans("words", "each word", optional=True),
        Score("characters", "code points", unit="code points"),
    ]
    calm, words, characters = label_schema("moody-1", labels).columns
    assert characters.description == "code points"  # the unit is not said twice
    assert (calm.name, calm.type, calm.description) == ("moody-1__calm", "score: a number", "how calm (points)")
    assert (calm.constraints.nullable, calm.constraints.other) == (False, ["at least 0", "at most 1"])
    assert (words.name, words.constraints.nullable, words.constraints.other) == ("moody-1__words", True, [])


@pytest.mark.slow
def test_a_kept_row_comes_from_its_document_and_from_what_rules_read() -> None:
    columns = (score("count-1__words", "n"), field("metadata.host.name", name="host"))
    rules = (Rule("long", "n > 3", "long"), Rule("mine", "host = 'a'", "mine"))
    reads = ("sources/letters/v0/documents", "sources/letters/v0/attributes/count-1")
    lineage = lineage_of(Selection(columns=columns, include=rules), reads).deps_by_column
    told = {name: [f"{dep.asset_key.path[-1]}.{dep.column_name}" for dep in deps] for name, deps in lineage.items()}
    assert told["text"] == ["count-1.count-1__words", "documents.metadata", "documents.text"]
    assert told["metadata"] == ["count-1.count-1__words", "documents.metadata"]


@pytest.mark.slow
def test_a_materialization_has_columns_lineage_and_numbers_of_each_label(milled: Works) -> None:
    done = milled.run("letters_journey", engine={"force": True})
    schema = done.metadata(MOODY_V1)["dagster/column_schema"]
    assert isinstance(schema, dg.TableSchema)
    assert [column.name for column in schema.columns] == ["moody-1__calm"]
    labels = [record.data for record in done.metadata(MOODY_V1)["labels"].records]
    assert [(row["label"], row["rows"], row["nulls"], row["mean"]) for row in labels] == [("calm", 5, 0, "1")]
    assert "dagster/column_lineage" not in done.metadata(LETTERS_V0)
    assert len(done.metadata(LETTERS_V0)["dagster/column_schema"].columns) == 6
    lineage = done.metadata(LETTERS_V1)["dagster/column_lineage"].deps_by_column
    read = {(dep.asset_key.path[-1], dep.column_name) for dep in lineage["text"]}
    assert read == {("documents", "text"), ("count-1", "count-1__words")}
    assert "dagster/column_schema" in done.metadata(COUNT_V1)
