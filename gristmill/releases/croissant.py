"""The metadata of a release in Croissant 1.0, which search engines of datasets and loaders read.

Source: https://docs.mlcommons.org/croissant/docs/croissant-spec.html. The record set describes the rows of the mix's
shards; the paths are relative to the file.
"""

from collections.abc import Mapping
from typing import Any

from gristmill.recipes.mixture.declared_tokens import NOT_DECLARED
from gristmill.releases.card import DataCard

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_FIELDS = {"id": "id of the document, unique within its source", "source": "name of the source", "text": "the text"}


def croissant_metadata(card: DataCard, shards: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    """The metadata as JSON-LD.

    Args:
        card: the data card.
        shards: (sha256, size in bytes) of each shard of the mix, by its path in the lake.
    """
    files = [
        {
            "@type": "cr:FileObject",
            "@id": path,
            "name": path,
            "contentUrl": f"../../{path}",
            "contentSize": f"{size} B",
            "encodingFormat": "application/jsonlines",
            "sha256": sha256,
        }
        for path, (sha256, size) in sorted(shards.items())
    ]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": card.name,
        "description": _card_description(card),
        "license": sorted({stream.licence for stream in card.streams} - {NOT_DECLARED}),
        **({"inLanguage": languages} if (languages := sorted(card.languages.keys() - {NOT_DECLARED})) else {}),
        "url": next((stream.homepage for stream in card.streams if stream.homepage), ""),
        "version": f"1.0.0+{card.fingerprint[:16]}",
        "creator": [{"@type": "sc:Organization", "name": owner} for owner in card.owners],
        "distribution": [*files, _croissant_file_set(list(shards))],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "documents",
                "name": "documents",
                "description": "One record for each document of the mix.",
                "key": [{"@id": "documents/source"}, {"@id": "documents/id"}],
                "field": [_croissant_field(name, words) for name, words in _FIELDS.items()],
            }
        ],
    }


def _card_description(card: DataCard) -> str:
    """Croissant has no field for what a mix declares for training, so its description says it."""
    words = card.description or f"The mix {card.mix}, {card.tokens:,} tokens of {card.tokenizer}."
    return f"{words} For training it declares: {card.training.declared}." if card.training else words


def _croissant_file_set(paths: list[str]) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": "shards",
        "name": "shards",
        "containedIn": [{"@id": path} for path in sorted(paths)],
        "encodingFormat": "application/jsonlines",
        "includes": "*.jsonl.gz",
    }


def _croissant_field(name: str, words: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"documents/{name}",
        "name": name,
        "description": words,
        "dataType": "sc:Text",
        "source": {"fileSet": {"@id": "shards"}, "extract": {"column": name}},
    }
