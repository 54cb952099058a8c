import msgspec
from releasekit import card_of_whole
from testkit import Mill

from gristmill.releases.card import DroppedRows
from gristmill.releases.card_text import card_text


def test_the_card_is_markdown_with_a_row_for_each_rule(whole: Mill) -> None:
    text = card_text(card_of_whole(whole))
    assert text.startswith("# first\n\n8 documents of the mix `even`, ")
    assert "16 of 40 rows were kept (40.0%)." in text
    assert "| by-four | 8 | `number % 4 = 0` | a number that one can count by eye |" in text


def test_words_of_recipes_do_not_break_its_tables(whole: Mill) -> None:
    card = card_of_whole(whole)
    hostile = DroppedRows("a|b\n# c", 1, "x || '`'\n> 1", "<b>|")
    steps = (msgspec.structs.replace(card.steps[0], dropped=(hostile,)),)
    text = card_text(msgspec.structs.replace(card, steps=steps))
    [row] = [line for line in text.splitlines() if "# c" in line]
    assert row == "| a\\|b # c | 1 | ``x \\|\\| '`' > 1`` | \\<b\\>\\| |"


def test_changed_texts_and_held_out_tokens_are_told(whole: Mill) -> None:
    card = card_of_whole(whole)
    changed = {"edits": 1200, "transform ocr-noise-1": 3}
    steps = (msgspec.structs.replace(card.steps[0], changed=changed, kept_changed=7),)
    streams = tuple(msgspec.structs.replace(each, validation_tokens=1500) for each in card.streams[:1])
    text = card_text(msgspec.structs.replace(card, steps=steps, streams=streams))
    words = "\nTexts of rows were changed by edits: 1,200, transform ocr-noise-1: 3."
    assert "\n40 of 41 rows were kept (97.6%); 7 of these were changed.\n" in text
    assert f"{words} Rows that were dropped afterwards are counted too.\n" in text
    older = msgspec.structs.replace(steps[0], kept_changed=msgspec.UNSET)
    assert f"rows were kept (97.6%).{words}\n" in card_text(msgspec.structs.replace(card, steps=(older,)))
    assert "\n1,500 of the tokens are held out for validation.\n" in text
