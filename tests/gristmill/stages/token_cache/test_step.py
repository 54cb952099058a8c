from pathlib import Path

import pytest
from talklake import BYTES, TEMPLATE, build, mix_of, row, rows_of, started, talk
from testkit import SHELVES, SNAPSHOT

from gristmill.errors import RecipeError
from gristmill.execution.survey import survey_step
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.recipes.row_format import Chat, Format, Text
from gristmill.stages.token_cache.step import TokenCacheStep

ASKS = "{% if messages[0].tool_calls is none %}.{% endif %}"
"""Shows a key that Levanter gives each turn."""


@pytest.mark.slow
def test_a_chat_without_a_template_or_marks_is_refused_before_anything_runs(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")))
    with pytest.raises(RecipeError, match=r"no chat template: neither its format .* nor has the tokenizer bytes-1"):
        build(mill, mix_of(Chat()))
    bare = "{% for m in messages %}{{ m.content }}{% endfor %}"
    with pytest.raises(RecipeError, match=r"no \{% generation %\} block.* mask_user_turns=False"):
        build(mill, mix_of(Chat(chat_template=bare)))
    build(mill, mix_of(Chat(chat_template=bare, mask_user_turns=False)))
    assert rows_of(mill)[0]["assistant_masks"] == [0] * 7
    with pytest.raises(RecipeError, match="the chat template is not valid Jinja"):
        build(mill, mix_of(Chat(chat_template="{% for m in messages %}")))


@pytest.mark.parametrize(
    "declared",
    [Text(), Text(pack=4), Chat(chat_template=TEMPLATE), Chat(chat_template=TEMPLATE + ASKS)],
    ids=["text", "packed", "chat", "chat with null keys"],
)
def test_what_was_made_is_finished(tmp_path: Path, declared: Format) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")), row(1, talk("Who", "I")))
    mix = mix_of(declared)
    build(mill, mix)
    (partition,) = survey_step(TokenCacheStep(mix, "pages", BYTES, SNAPSHOT, SHELVES), mill.store)
    assert (partition.finished, partition.why) == (True, ())


def test_a_part_of_another_recipe_has_another_folder(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")), row(1, talk("Who", "I")))
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    folders: list[str] = []
    for mix in (mix_of(Text()), mix_of(Chat(chat_template=TEMPLATE))):
        build(mill, mix)
        folders += [part.extra["folders"]["train"] for part in read_ledger(mill.store, here)[1]]
    assert len(set(folders)) == len(folders)
