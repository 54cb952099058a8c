from gristmill.recipes.adopted.layout import DolmaLayout, OrAll
from gristmill.recipes.raw_rules import Everything, Folders


def test_a_file_is_of_a_version_a_set_and_a_snapshot() -> None:
    layout = DolmaLayout(OrAll(Folders()), ("v0", "v1"))
    assert layout.parts("v1/attributes/pii/2024/a.jsonl") == ("v1", "pii", "2024/a.jsonl")
    assert layout.split("v1/attributes/pii/2024/a.jsonl") == ("2024", "v1/attributes/pii/2024/a.jsonl")
    outside = ("v2/documents/a", "v1/raw/a", "v1/documents", "v1/attributes/a")
    assert [layout.parts(name) for name in outside] == [None] * 4
    assert layout.prefix("2024") == ""


def test_what_has_no_snapshot_is_in_all() -> None:
    rule = OrAll(Folders())
    assert (rule.split("a.jsonl")[0], rule.split("2024/a.jsonl")[0]) == ("all", "2024")
    assert (rule.prefix("all"), rule.prefix("2024")) == ("", "2024/")
    assert OrAll(Everything()).split("2024/a.jsonl")[0] == "all"
