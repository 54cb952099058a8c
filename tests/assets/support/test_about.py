import dagster as dg

from assets.support.about import description_of, facts_about, selection_in_words
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.selection import Selection
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


def test_rules_and_changes_are_lists_in_markdown() -> None:
    selection = Selection(
        columns=(score("length-1__words", "words"),),
        exclude=(Rule("stubs", "words < 20", "stubs teach nothing"), Rule("long", "words > 9", "they are lists")),
        transforms=("whitespace-1",),
    )
    rules = "Drops rows by these rules:\n\n- `stubs`: stubs teach nothing\n- `long`: they are lists"
    changes = "\n".join(f"- {change}" for change in selection.changes_in_words)
    assert selection_in_words(selection) == f"{rules}\n\nChanges rows:\n\n{changes}"
    assert selection_in_words(Selection()) == "No rule drops rows."


def test_a_description_of_several_paragraphs_has_the_licence_in_one_of_its_own() -> None:
    assert description_of(PLAIN, "Tales\n\n- `a`: b") == "Tales\n\n- `a`: b\n\nLicence: not declared."


def test_facts_tell_what_changed_from_version_to_version() -> None:
    assert set(facts_about(PLAIN)) == {"licence", "snapshots", "changes"}
    facts = facts_about(TOLD)
    assert (facts["licence"], facts["terms"]) == ("CC0-1.0", "Name the archive.")
    assert facts["homepage"] == dg.MetadataValue.url("https://example.org/a")
    assert facts["changes"] == "v0: line ends, because they differ; v1: long ones"
