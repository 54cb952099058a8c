"""What a slice of a token cache says of its rows: lengths as a drawing, bytes a token, pieces of characters."""

import base64
from collections.abc import Sequence
from typing import Any

import dagster as dg

from gristmill.lake.ledger.model import Shard
from gristmill.reports.histogram import Histogram, draw
from gristmill.stages.token_cache.part import claim_of
from gristmill.stages.token_cache.statistics import Facts, edges_of, summed


def drawing(histogram: Histogram, title: str, unit: str) -> str:
    """A histogram as an image in Markdown that needs nothing from elsewhere."""
    data = base64.b64encode(draw(histogram, title, unit).encode()).decode()
    return f"![{title}](data:image/svg+xml;base64,{data})"


def cache_facts(parts: Sequence[Shard]) -> dict[str, Any]:
    """Metadata over the parts of a slice; nothing where no part has counted its rows."""
    facts = facts_of(parts)
    tokens = sum(part.counts.get("tokens", 0) for part in parts)
    if not facts.lengths or not tokens:
        return {}
    histogram = Histogram(tuple(edges_of(len(facts.lengths))), facts.lengths)
    return {
        "bytes of text a token": round(facts.bytes / tokens, 3),
        "tokens inside a character": f"{facts.fragments / tokens:.3%}",
        "unknown tokens": f"{facts.unknown / tokens:.3%}",
        "document lengths": dg.MetadataValue.md(drawing(histogram, "document lengths", "documents by tokens")),
    }


def facts_of(parts: Sequence[Shard]) -> Facts:
    """What the shards in some parts have counted, together."""
    claims = (claim_of(part) for part in parts)
    return summed(each.facts for claim in claims if claim for each in claim.shards.values())
