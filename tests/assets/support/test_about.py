import dagster as dg

from assets.support.about import description_of, facts_about
from gristmill.recipes.source import Revision, Source

PLAIN = Source(name="a", convert=lambda _: [])
TOLD = Source(
    name="a",
    convert=lambda _: [],
    licence="CC0-1.0",
    terms="Name the archive.",
    homepage="https://example.org/a",
    changes="line ends, because they differ",
    revisions=(Revision(version="v1", description="long ones"),),
)


def test_a_description_has_what_the_source_says() -> None:
    assert description_of(PLAIN, "Tales.") == "Tales. Licence: not declared."
    said = "Tales. Licence: CC0-1.0.\n\nTerms: Name the archive.\n\nHome page: <https://example.org/a>"
    assert description_of(TOLD, "Tales.") == said


def test_facts_have_a_table_of_what_changed_from_version_to_version() -> None:
    assert set(facts_about(PLAIN)) == {"licence", "snapshots", "changes"}
    facts = facts_about(TOLD)
    assert (facts["licence"], facts["terms"]) == ("CC0-1.0", "Name the archive.")
    assert facts["homepage"] == dg.MetadataValue.url("https://example.org/a")
    rows = [tuple(record.data.values()) for record in facts["changes"].records]
    assert rows == [("v0", "line ends, because they differ"), ("v1", "long ones")]
