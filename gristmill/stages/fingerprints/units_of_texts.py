"""Which function of gristmill.text.units finds the units of a recipe in texts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gristmill.recipes.duplicates.units import (
    DocumentUnits,
    LineUnits,
    MinHashUnits,
    NgramUnits,
    ParagraphUnits,
    SentenceUnits,
    Unit,
)
from gristmill.stages.fingerprints.key_rows import row_keys
from gristmill.text.units.hashes import Digests, hash_pieces
from gristmill.text.units.minhash import Signatures
from gristmill.text.units.pieces_between import lines, paragraphs
from gristmill.text.units.sentence_runs import sentence_runs
from gristmill.text.units.unit_hashes import UnitHashes
from gristmill.text.units.whole_texts import hash_document_bands, hash_document_keys
from gristmill.text.units.word_ngrams import Ngrams, ngram_paragraphs


class Found(NamedTuple):
    """Units of some rows, and for MinHash the signatures of these rows."""

    units: UnitHashes
    signatures: Signatures | None = None


def hash_units_of_rows(
    unit: Unit, rows: Sequence[Any], counts: Counter[str], hashed: Digests = hash_pieces
) -> Iterator[Found]:
    """The units of rows.

    Args:
        unit: unit that is compared.
        rows: rows of the type `keyed_row`, if whole documents are compared; else with `text`.
        counts: counter of the rows without a key, by the reason.
        hashed: function that computes the hashes of each unit, but for n-grams and signatures.
    """
    if isinstance(unit, DocumentUnits):
        keys = row_keys(rows, unit.key, counts)
        yield Found(hash_document_keys(keys, [len(row.text) for row in rows], unit.normalised, hashed))
        return
    texts = [row.text for row in rows]
    if isinstance(unit, MinHashUnits):
        for units, values in hash_document_bands(texts, unit.ngram, unit.bands, unit.rows, unit.seed, unit.normalised):
            yield Found(units, values)
        return
    yield from map(Found, _hash_units_of_texts(unit, texts, hashed))


def _hash_units_of_texts(
    unit: ParagraphUnits | LineUnits | SentenceUnits | NgramUnits, texts: Sequence[str], hashed: Digests
) -> Iterator[UnitHashes]:
    if isinstance(unit, ParagraphUnits):
        return paragraphs(texts, unit.separator, unit.min_length, unit.min_words, unit.normalised, hashed)
    if isinstance(unit, LineUnits):
        return lines(texts, unit.min_length, unit.normalised, hashed)
    if isinstance(unit, SentenceUnits):
        return sentence_runs(texts, unit.count, unit.normalised, hashed, unit.rule)
    ngrams = Ngrams(unit.length, unit.stride, unit.skip_short, unit.normalised)
    return ngram_paragraphs(texts, ngrams, unit.separator)
