"""What others have made and the package contains stands in NOTICE, and its licence in the package's metadata."""

import tomllib

from paths import ROOT

OURS = ("README.md", "py.typed", ".template", "rude_remarks.jsonl", "naughty_words_en.md")
"""Ends of the names of files that we wrote, beside code."""

LICENCES = {
    "gristmill/models/lid.176.ftz": "CC-BY-SA-3.0",
    "gristmill/taggers/quality/naughty_words_en.txt": "CC-BY-4.0",
    "gristmill/text/unicode/assigned.py": "Unicode-3.0",
    "gristmill/text/unicode/characters.txt": "Unicode-3.0",
    "gristmill/text/unicode/word_break.txt": "Unicode-3.0",
}
"""The licence of each file that others have made."""


def packed() -> list[str]:
    """The files that the wheel contains, below the checkout."""
    files = [path for top in ("gristmill", "assets", "resources", "sensors") for path in (ROOT / top).rglob("*")]
    names = [path.relative_to(ROOT).as_posix() for path in files if path.is_file()]
    return [name for name in names if "__pycache__" not in name]


def test_every_data_file_of_others_is_known() -> None:
    data = {name for name in packed() if not name.endswith((".py", *OURS))}
    assert data == {name for name in LICENCES if not name.endswith(".py")}, "whose file is it? See NOTICE"


def test_code_that_names_a_licence_of_data_is_known() -> None:
    tables = [name for name in packed() if name.endswith(".py") and "unicode.org/license" in (ROOT / name).read_text()]
    assert tables == ["gristmill/text/unicode/assigned.py"]


def test_the_notice_names_each_file_and_the_metadata_each_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license-files"] == ["LICENSE", "NOTICE"]
    assert project["license"].split(" AND ") == ["Apache-2.0", *sorted(set(LICENCES.values()))]
    notice = (ROOT / "NOTICE").read_text()
    assert [name for name in LICENCES if f"\n{name}" not in notice] == []
