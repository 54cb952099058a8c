"""A published configuration of Dolma's mixer is a mix of the lake: it gives the rows of `dolma mix`."""

import gzip
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from adoptions import adopt, write_rows
from testkit import Mill

from gristmill.dolma.formats.mixer_config import StreamSpec, mixer_config
from gristmill.dolma.mixing.mixing import plan_mixing, run_mixing
from gristmill.dolma.recipes.dolma_mix import DolmaMix
from gristmill.errors import RecipeError
from gristmill.execution.runner import Inline
from gristmill.lake.address import mix_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.recipes.adopted.dataset import Adopted
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.selection import read_selection
from gristmill.recipes.source import Source
from gristmill.stages.mixing.step import stream_step

SMALL = {
    "streams": [
        {
            "name": "Small_Web",
            "documents": ["s3://them/web/v0/documents/a/*.gz", "s3://them/web/v0/documents/b/*.gz"],
            "attributes": ["gopher", "pii"],
            "filter": {
                "include": ["$.metadata[?(@.lang == 'en')]", "$.attributes[?(@.gopher__words[0][2] > 100)]"],
                "exclude": ["$.attributes[?(@.gopher__words && @.gopher__words[0][2] < 50)]"],
            },
            "span_replacement": [{"span": "$.attributes.pii__email", "min_score": 0.5, "replacement": "|||E|||"}],
            "output": {"path": "s3://them/out", "max_size_in_bytes": 1, "discard_fields": ["attributes"]},
        }
    ]
}
PATHS = {"s3://them/web/v0/documents": "web/v0"}


def small(tmp_path: Path, paths: Mapping[str, str] | None = None, **changed: Any) -> DolmaMix:
    """The mix of a small configuration, with other options of its stream."""
    options = changed.pop("options", {})
    config = {"streams": [{**SMALL["streams"][0], **changed}]}
    (tmp_path / "small.json").write_text(json.dumps(config))
    return DolmaMix(
        name="small", config=str(tmp_path / "small.json"), paths={**PATHS, **(paths or {})}, options=options
    )


def test_a_configuration_gives_rules_and_edits(tmp_path: Path) -> None:
    (stream,) = small(tmp_path, options={"small-web": {"rate": 0.5}}).streams
    assert (stream.key, stream.source, stream.version, stream.rate) == ("small-web", "web", "v0", 0.5)
    (include,), (exclude,) = stream.include, stream.exclude
    assert include.where == "(metadata_lang = 'en') OR (gopher__words[1].score > 100)"
    assert (exclude.name, exclude.where) == ("words-below-50", "gopher__words[1].score < 50")
    assert stream.edits == (Edit(spans="pii__email", replacement="|||E|||", least=0.5, optional=True),)
    assert (stream.overlaps, stream.discard, stream.merge) == ("first", ("attributes",), ())
    assert read_selection(stream.parameters()).parameters() == stream.parameters()
    output = {"path": "out", "discard_fields": ["attributes"], "min_text_length": 9}
    (stream,) = small(tmp_path, output=output).streams
    assert (stream.least_bytes, len(stream.exclude)) == (9, 1)


def test_names_of_the_lake_come_from_the_table(tmp_path: Path) -> None:
    (stream,) = small(tmp_path, {"gopher__": "gopher-1__", "pii__email": "pii-1__EMAIL_ADDRESS"}).streams
    assert stream.sets == ("gopher-1", "pii-1")
    assert stream.edits[0].spans == "pii-1__EMAIL_ADDRESS"
    (stream,) = small(tmp_path, {"pii": "pii-2"}).streams
    assert stream.edits[0].spans == "pii-2__pii__email"  # an adopted set keeps the longer keys under another name


def test_a_set_that_nobody_makes_is_refused_with_the_table_of_names(tmp_path: Path) -> None:
    web = Source(name="web", convert=lambda _: ())
    with pytest.raises(RecipeError, match=r"on no shelf; .*; small\.json has the name: say in the table paths= what"):
        Catalogue({"web": web}, {}, {"small": small(tmp_path)}, {})


def test_several_sources_give_several_streams(tmp_path: Path) -> None:
    paths = {"s3://them/web/v0/documents/b": "books/v1"}
    assert [stream.key for stream in small(tmp_path, paths).streams] == ["small-web-web", "small-web-books"]
    paths = {"s3://them/web/v0/documents/b": "web/v1"}
    assert [stream.key for stream in small(tmp_path, paths).streams] == ["small-web-web-v0", "small-web-web-v1"]


def test_attributes_are_merged_where_they_are_not_discarded(tmp_path: Path) -> None:
    output = {"path": "out", "discard_fields": ["metadata.x"], "min_text_length": 9}
    (stream,) = small(tmp_path, {"gopher": "gopher-1"}, span_replacement=[], output=output).streams
    assert (stream.merge, stream.discard, stream.least_bytes) == (("gopher-1", "pii"), ("metadata.x",), 0)
    assert stream.exclude[-1].where.endswith("')) < 9")


@pytest.mark.parametrize(
    ("paths", "changed", "said"),
    [
        ({"s3://them/elsewhere": "web/v0"}, {}, "paths has 's3://them/elsewhere', and the configuration nothing"),
        ({"s3://them/web/v0/documents": "web"}, {}, "give 'source/version'"),
        ({}, {"documents": ["s3://them/wiki/*.gz"]}, "paths has nothing for 's3://them/wiki/\\*.gz'"),
        ({}, {"options": {"smal-web": {}}}, "options of a stream 'smal-web'; did you mean 'small-web'"),
        ({}, {"filter": {"include": [".n > 1"], "syntax": "jq"}}, "stream 'Small_Web': jq '.n > 1': the documents of"),
        (
            {},
            {"filter": {"include": ["$..x"]}},
            "'Small_Web': \\$..x: .* `gristmill dolma mix` takes the others",
        ),
        ({}, {"output": {"path": "out"}}, "rows would carry spans of the old text"),
        ({}, {"span_replacement": [{"span": "$.attributes.a", "min_score": 0, "replacement": "[{}]"}]}, "on the row"),
        ({}, {"span_replacement": [{"span": "$..a", "min_score": 0}]}, "is not of the form"),
        ({}, {"attributes": []}, "reads the attribute 'gopher__words', but the stream names no attributes"),
    ],
)
def test_what_has_no_meaning_in_a_lake_is_refused_by_name(
    tmp_path: Path, paths: dict[str, str], changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(RecipeError, match=f"mix 'small': .*{said}"):
        small(tmp_path, paths, **changed)


def test_the_file_is_named_absolutely(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"such as str\(Path\(__file__\).with_name\('small.json'\)\)"):
        DolmaMix(name="small", config="small.json")
    with pytest.raises(RecipeError, match=r"none\.json: No such file"):
        DolmaMix(name="small", config=str(tmp_path / "none.json"))


def rows_of_dolma(config: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows that `gristmill dolma mix` writes, by id of each stream, without their provenance."""
    plan = plan_mixing(mixer_config(json.dumps(config).encode(), "c.json", {}), {})
    run_mixing(plan, Inline(), {}, lambda _: None)
    found: dict[str, list[dict[str, Any]]] = {}
    for stream in config["streams"]:
        files = sorted(path for path in Path(stream["output"]["path"]).glob("*.gz") if path.is_file())
        found[stream["name"]] = [
            json.loads(line) for path in files for line in gzip.decompress(path.read_bytes()).splitlines()
        ]
        for row in found[stream["name"]]:
            row["metadata"].pop("provenance")
            if not row["metadata"]:
                del row["metadata"]
    return found


def written(mill: Mill, mix: DolmaMix, stream: str) -> list[dict[str, Any]]:
    partition = place(mix_asset(mix.name, stream), "all")
    shards = read_ledger(mill.store, partition)[1]
    return [row for shard in shards for row in mill.rows(partition.shard(shard.name))]


class Published:
    """A published configuration, and small made inputs for it: each source version is adopted from a folder."""

    def __init__(self, path: Path, home: Path) -> None:
        self.path, self.home = path, home
        self.config = mixer_config(path.read_bytes(), path.name, {})
        text = re.sub(r"\s+", " ", path.read_text())
        self.labels = sorted(set(re.findall(r"@\.(\w+)", text)) | set(re.findall(r"\.attributes\.(\w+)", text)))
        self.bounds: dict[str, list[tuple[str, float]]] = {label: [] for label in self.labels}
        for label, sign, bound in re.findall(r"[@s]\.(\w+)\[0\]\[(?:2|-1)\] ([<>=]+) ([0-9.]+)", text):
            if (sign, float(bound)) not in self.bounds[label]:
                self.bounds[label].append((sign, float(bound)))
        self.roots: dict[str, str] = {}

    def source(self, pattern: str) -> str:
        """The name of the source that has the files of an entry of documents."""
        root = pattern.partition("/documents/")[0]
        return self.roots.setdefault(root, f"source-{len(self.roots)}")

    def write(self, draw: Random) -> None:
        """Two files for each source, and those of its sets."""
        for stream in self.config.streams:
            homes = {key: self._home(draw, stream, key) for key in self.labels}
            for source in {self.source(pattern) for pattern in stream.documents}:
                for number in range(2):
                    self._write_file(
                        draw, stream, homes, f"{source}-{number}", self.home / source, f"{number}.jsonl.gz"
                    )

    def _write_file(
        self, draw: Random, stream: StreamSpec, homes: Mapping[str, str], lead: str, root: Path, name: str
    ) -> None:
        rows = [self._document(draw, f"{lead}-{row}") for row in range(60)]
        write_rows(root / "documents" / name, rows)
        for set_ in stream.attributes:
            keys = [key for key, home in homes.items() if home == set_]
            beside = [{"id": row["id"], "attributes": self._attributes(draw, row["text"], keys)} for row in rows]
            write_rows(root / "attributes" / set_ / name, beside)

    @staticmethod
    def _document(draw: Random, id_: str) -> dict[str, Any]:
        text = "".join(draw.choices(["mill ", "é", "😀", "\n", "grain", '"'], k=draw.randrange(1, 25)))
        row: dict[str, Any] = {"id": id_, "source": "x", "text": text}
        return row if draw.random() < 0.5 else {**row, "metadata": {"n": draw.randrange(5)}}

    @staticmethod
    def _home(draw: Random, stream: StreamSpec, key: str) -> str:
        """The set that has a key: the one that names it, or any."""
        return next((name for name in stream.attributes if key.startswith(f"{name}__")), draw.choice(stream.attributes))

    def _attributes(self, draw: Random, text: str, keys: list[str]) -> dict[str, Any]:
        """Scores of which few pass a bound, and spans that overlap. No span is empty."""
        found: dict[str, Any] = {}
        for key in keys:
            bounds = [bound for _, bound in self.bounds[key]]
            usual = sum(bounds) / len(bounds) if len(bounds) > 1 else 0.0
            if len(bounds) == 1:
                usual = bounds[0] / 2 if ">" in self.bounds[key][0][0] else bounds[0] * 2
            rare = draw.random() < 0.02
            scores = [draw.choice([each * factor for each in bounds or [0.5] for factor in (0.9, 1, 1.1)]), usual]
            many = not bounds or "spans" in key
            starts = [draw.randrange(len(text)) for _ in range(draw.randrange(4) if many else draw.random() < 0.95)]
            ends = [draw.randint(at + 1, len(text)) for at in starts]
            if not starts and draw.random() < 0.5:
                continue
            found[key] = [[*pair, scores[not (rare or not bounds)]] for pair in zip(starts, ends, strict=True)]
        return found

    def placed(self) -> dict[str, Any]:
        """The configuration with the folders of the test in place of the published ones."""
        streams = []
        for one in json.loads(json.dumps(self._plain())):
            sources = list(dict.fromkeys(self.source(pattern) for pattern in one["documents"]))
            one["documents"] = [f"{self.home}/{source}/documents/*.gz" for source in sources]
            one["output"]["path"] = f"{self.home}/out/{one['name']}"
            streams.append(one)
        return {"streams": streams}

    def _plain(self) -> Any:
        return msgspec.to_builtins(self.config)["streams"]


@pytest.mark.slow
def test_each_published_configuration_gives_the_rows_of_dolma_mix(tmp_path: Path) -> None:
    samples = os.environ.get("GRISTMILL_SAMPLE_DATA")
    if not samples:
        pytest.skip("GRISTMILL_SAMPLE_DATA does not name the sample data")
    paths = sorted((Path(samples) / "dolma/configs/v1_5-mixing").glob("*.yaml"))
    assert len(paths) >= 9
    for number, path in enumerate(paths):
        kept = compared(Published(path, tmp_path / path.stem), Random(number))
        assert kept > 40, path


LATER = """
streams:
  - name: later
    documents: [s3://them/web/v0/documents/*]
    attributes: [dedupe_para_ngrams_13_1, repetitions, quality, paloma_paragraphs]
    output:
      path: s3://them/out
      min_text_length: 25
      discard_fields: [attributes]
    filter:
      syntax: jq
      include:
        - >-
          (.attributes.dedupe_para_ngrams_13_1 | length == 0) or
          ((.attributes.dedupe_para_ngrams_13_1 | map(.[2] * (.[1] - .[0])) | add) / (.text | length) <= 0.6)
      exclude:
        - >-
          (.attributes.repetitions__doc_max_score_repetition != null) and
          (.attributes.repetitions__doc_max_score_repetition[0][-1] > 10)
        - .attributes.quality__hq[0][-1] <= 0.01
        - (.attributes.paloma_paragraphs_bff_duplicates | length) > 2
    span_replacement:
      - span: $.attributes.dedupe_para_ngrams_13_1
        min_score: 0.5
        replacement: ''
"""
"""In the style of the configurations of Dolma v1.7."""


@pytest.mark.slow
def test_a_configuration_in_jq_gives_the_rows_of_dolma_mix(tmp_path: Path) -> None:
    (tmp_path / "later.yaml").write_text(LATER)
    published = Published(tmp_path / "later.yaml", tmp_path / "home")
    assert 20 < compared(published, Random(3)) < 115
    (stream,) = DolmaMix(name="later", config=str(published.path), paths={"s3://them/web/v0": "web/v0"}).streams
    names = ["doc-max-score-repetition-above-10", "hq-at-most-0-01", "exclude"]
    assert [rule.name for rule in stream.exclude] == names


EACH = """
streams:
  - name: each
    documents: [s3://them/web/v0/documents/*]
    attributes: [quality]
    output: {path: s3://them/out, discard_fields: [attributes]}
    filter:
      include: [$.id]
      exclude: ["$.attributes[?(@.quality__hq && @.quality__hq[0][2] < 0.5)]"]
"""


@pytest.mark.slow
def test_a_filter_that_asks_for_the_id_takes_each_document(tmp_path: Path) -> None:
    (tmp_path / "each.yaml").write_text(EACH)
    assert compared(Published(tmp_path / "each.yaml", tmp_path / "home"), Random(3)) > 20


def compared(published: Published, draw: Random) -> int:
    """Makes the mix in a lake and runs `dolma mix` on the same files. Returns the number of rows."""
    published.write(draw)
    theirs = rows_of_dolma(published.placed())
    table = {f"{root}/documents": f"{name}/v0" for root, name in published.roots.items()}
    mix = DolmaMix(name="dolmas", config=str(published.path), paths=table)
    (published.home / "lake").mkdir()
    mill = Mill(published.home / "lake")
    sets = tuple(sorted({name for stream in published.config.streams for name in stream.attributes}))
    for name in published.roots.values():
        adopt(mill, Adopted(name=name, root=str(published.home / name), sets=sets))
    for stream in mix.streams:
        mill.make(stream_step(mix, stream.key, "all", ()))
    ours = [row for stream in mix.streams for row in written(mill, mix, stream.key)]
    rows = [row for each in theirs.values() for row in each]
    assert len(ours) == len(rows)
    for mine, other in zip(ours, rows, strict=True):
        assert mine == other
    return len(ours)
