import re

import pytest

from gristmill.errors import RecipeError
from gristmill.stages.chat_templates.written import TemplateText, Writer


def test_a_written_string_is_the_same_string_but_prints_with_twins() -> None:
    writer = Writer()
    end = writer.as_template_text("<end>")
    assert end == "<end>"
    assert {"<end>": 1}[end] == 1
    assert not re.search("[<a-z>]", str(end))
    assert writer.without_twins(str(end)) == "<end>"
    for made, plain, own in (
        (end + "x", "<end>x", 5),
        ("x" + end, "x<end>", 5),
        (end[1:4], "end", 3),
        (writer.as_template_text(" a ").strip(), "a", 1),
        (writer.as_template_text("--a").lstrip("-"), "a", 1),
        (end.upper(), "<END>", 0),
    ):
        assert made == plain
        shown = str(made)
        assert writer.without_twins(shown) == plain
        assert sum(writer.has_written(shown, (at, at + 1)) for at in range(len(shown))) == own
    assert isinstance(end + end, TemplateText)


def test_a_role_is_the_templates_own_only_if_it_is_a_known_one() -> None:
    writer = Writer()
    assert isinstance(writer.with_role({"role": "user"})["role"], TemplateText)
    for role in ("end", "", None, ["user"]):
        assert writer.with_role({"role": role}) == {"role": role}


def test_there_are_1024_twins() -> None:
    writer = Writer()
    writer.with_twins("".join(map(chr, range(0x4E00, 0x4E00 + 1024))))
    with pytest.raises(RecipeError, match="more than 1024 different characters"):
        writer.with_twins("a")
