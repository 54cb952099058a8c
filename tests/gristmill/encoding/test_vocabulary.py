from tinybpe import trained
from tokenizers import Tokenizer, models

from gristmill.encoding.vocabulary import read_vocabulary


def test_pieces_of_characters_are_told_from_characters() -> None:
    tokenizer = trained()
    vocabulary = read_vocabulary(tokenizer.to_str().encode(), tokenizer)
    entries = tokenizer.get_vocab()
    fragments = {number for number in entries.values() if vocabulary.fragments[number]}
    for token, number in entries.items():
        whole = tokenizer.decode([number], skip_special_tokens=False)
        assert ("\ufffd" in whole) == (number in fragments), token
    assert vocabulary.bytes[entries["\u0120the"]] == 4
    assert vocabulary.lead[entries["\u0120the"]] == 1


def test_spaces_at_the_ends_of_a_byte_level_entry_are_counted() -> None:
    tokenizer = Tokenizer(
        models.BPE(vocab={"a": 0, "\u0120": 1, "\u0120\u0120a\u0120": 2, "\u0120\u0120": 3}, merges=[])
    )
    tokenizer.add_special_tokens([" <pad>  "])
    found = read_vocabulary(tokenizer.to_str().encode(), tokenizer)
    assert (found.size, found.byte_level, found.unknown) == (5, True, None)
    assert found.bytes.tolist() == [1, 1, 4, 2, 8]
    assert found.lead.tolist() == [0, 1, 2, 2, 1]
    assert found.trail.tolist() == [0, 1, 1, 2, 2]


def test_of_a_vocabulary_with_byte_fallback_these_entries_are_pieces_and_no_bytes_are_known() -> None:
    tokenizer = Tokenizer(
        models.BPE(vocab={"<unk>": 0, "<0x0A>": 1, "<0xE4>": 2, "\u2581a": 3}, merges=[], unk_token="<unk>")
    )
    found = read_vocabulary(tokenizer.to_str().encode(), tokenizer)
    assert (found.byte_level, found.unknown) == (False, 0)
    assert found.fragments.tolist() == [False, True, True, False]
    assert not found.bytes.any()


def test_a_space_with_half_a_character_is_counted_among_the_pieces_and_one_with_a_whole_is_not() -> None:
    vocabulary = {"a": 0, "\u00c3\u00a9": 1, "\u0120\u00c3": 2, "\u0120\u00c3\u00a9": 3, "\u00a9a": 4}
    found = read_vocabulary(
        Tokenizer(models.BPE(vocab=vocabulary, merges=[])).to_str().encode(),
        Tokenizer(models.BPE(vocab=vocabulary, merges=[])),
    )
    assert found.fragments.tolist() == [False, False, True, False, True]
