import hashlib
import json

import pytest
from oscarlines import as_written, make_line, real_parts
from testkit import SNAPSHOT, Mill

from gristmill.errors import DataError
from gristmill.lake.address import attributes_asset, place
from gristmill.lake.rows.document import Document
from gristmill.readers.oscar.identifications import identifications_of
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.tagging.step import TaggingStep
from gristmill.taggers.oscar_sentences import OSCAR_SENTENCES

SHELVES = ("gristmill", "oscarshelf")


def convert(mill: Mill, lines: list[bytes], name: str, source: str = "oscar") -> None:
    data = b"".join(line + b"\n" for line in lines)
    mill.raw(name, data, source)
    mill.raw("checksum.sha384", f"{hashlib.sha384(data).hexdigest()}  {name}\n".encode(), source)
    mill.make(ConversionStep(find_recipe("sources", Source, SHELVES, source), SNAPSHOT, SHELVES))


def test_probabilities_above_one_and_unknown_labels_are_labels() -> None:
    entries = [{"label": "zzz", "prob": 1.000088}]
    document = Document(id="a", text="b", source="oscar", metadata={"oscar": {"sentence_identifications": entries}})
    assert OSCAR_SENTENCES.look([document]) == {"line_count": [1.0], "zzz": [[(0, 1, 1.000088)]]}


@pytest.mark.parametrize(("source", "schema"), [("oscar", "22.01"), ("oscar-2301", "23.01")])
def test_the_set_in_the_lake_holds_every_digit_of_every_probability(mill: Mill, source: str, schema: str) -> None:
    content = "eins\nzwei\n\n"
    entries = [{"label": "de", "prob": 0.89475197}, None, {"label": "Multi", "prob": 1e-7}]
    convert(mill, [as_written(make_line(0, schema, content, sentence_identifications=entries))], "de.jsonl", source)
    taggers = tuple(
        find_recipe("taggers", Tagger, SHELVES, name) for name in ("oscar-sentences-1", "oscar-annotations-1")
    )
    mill.make(TaggingStep(source, "v0", SNAPSHOT, taggers, SHELVES))
    rows = [mill.rows(place(attributes_asset(source, "v0", t.name), SNAPSHOT).shard("de"))[0] for t in taggers]
    labels = {name.partition("__")[2]: spans for name, spans in rows[0]["attributes"].items()}
    assert json.dumps(identifications_of(content, labels)) == json.dumps(entries)
    warned = {name.partition("__")[2]: spans[0][2] for name, spans in rows[1]["attributes"].items()}
    assert warned.get("harmful_pp") == (4063.1814 if schema == "23.01" else None)
    assert [warned[name] for name in ("tiny", "short_sentences", "header", "footer", "noisy")] == [1, 1, 0, 0, 0]


def test_a_release_whose_checksum_differs_is_not_published(mill: Mill) -> None:
    convert(mill, [as_written(make_line())], "de.jsonl")
    mill.raw("de.jsonl", as_written(make_line(1)) + b"\n", "oscar")
    with pytest.raises(DataError, match=r"wrong checksum: de\.jsonl has sha384"):
        mill.make(ConversionStep(find_recipe("sources", Source, SHELVES, "oscar"), SNAPSHOT, SHELVES))


def test_the_real_release_is_converted_with_its_checksums(mill: Mill) -> None:
    assert len(real_parts()) == 4
    source = find_recipe("sources", Source, ("gristmill", "sampleshelf"), "oscar-2201")
    step = ConversionStep(source, "2021-09", ("gristmill", "sampleshelf"))
    ledger = mill.make(step)
    assert (ledger.totals["rows"], ledger.dropped) == (28, {})
    assert mill.ground == ["en/en_part_1", "en/en_part_2", "fr/fr", "zh/zh"]
