import dagster as dg

from assets.support.facts.tables import metadata_table


def test_columns_have_the_types_of_the_first_row() -> None:
    made = metadata_table([{"shard": "a", "rows": 3, "share": 0.5}, {"shard": "b", "rows": 4, "share": 0.25}])
    assert isinstance(made, dg.TableMetadataValue)
    assert [(each.name, each.type) for each in made.schema.columns] == [
        ("shard", "string"),
        ("rows", "int"),
        ("share", "float"),
    ]
    assert [dict(record.data) for record in made.records] == [
        {"shard": "a", "rows": 3, "share": 0.5},
        {"shard": "b", "rows": 4, "share": 0.25},
    ]


def test_no_rows_are_a_word_because_a_table_without_columns_is_an_empty_box() -> None:
    assert metadata_table([]) == "none"
