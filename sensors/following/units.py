"""The units of the automation: assets whose conditions are evaluated together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assets.support.runs.tags import SOURCE
from gristmill.lake.asset_kinds import RESOLUTION
from gristmill.recipes.catalogue import Catalogue

INDEXES = "all/indexes"
"""The unit of all indexes. No source has a name with a slash."""
MOST = 400
"""Largest number of assets of a unit: Dagster refuses more than 500."""


@dataclass(frozen=True)
class Unit:
    """Assets whose conditions are evaluated together.

    Attributes:
        name: a source; or what no source is called.
        addresses: addresses of the assets.
        source: the source whose snapshots are their partitions; empty: they have none.
        tags: tags of its runs.
    """

    name: str
    addresses: tuple[str, ...]
    source: str
    tags: Mapping[str, str]


def units_of(catalogue: Catalogue) -> list[Unit]:
    """All units."""
    below: dict[str, list[str]] = {source: [] for source in catalogue.sources}
    for address, source in catalogue.partitioned_assets():
        below[source].append(address)
    units = [
        each for source, addresses in below.items() for each in _split(source, addresses, source, {SOURCE: source})
    ]
    for name in catalogue.dedupes:
        address = RESOLUTION.at(dedupe=name)
        units += _split(address, [address], "", {"gristmill/dedupe": name})
    return [*units, *_split(INDEXES, list(catalogue.indexes()), "", {})]


def _split(name: str, addresses: Sequence[str], source: str, tags: Mapping[str, str]) -> Iterator[Unit]:
    """A unit of some assets; several if they are more than Dagster evaluates together."""
    for first in range(0, len(addresses), MOST):
        some = tuple(addresses[first : first + MOST])
        yield Unit(f"{name}/{first}" if first else name, some, source, tags)
