"""Recipes for near duplicates that tests use. Few values in few bands: some documents share a band by chance."""

from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits

BOTH, WIKI = ("wiki/v0", "news/v0"), ("wiki/v0",)

NEAR = Dedupe(name="near-1", unit=MinHashUnits(ngram=1, bands=2, rows=2), sources=BOTH, buckets=2)
LOOSE = Dedupe(name="loose-1", unit=MinHashUnits(ngram=1, bands=4, rows=1, least=0.6), sources=BOTH, buckets=2)
LONGEST = Dedupe(name="longest-1", unit=MinHashUnits(ngram=1, bands=2, rows=2, keeper="longest"), sources=WIKI)
BEST = Dedupe(
    name="best-1",
    unit=MinHashUnits(ngram=1, bands=2, rows=2, keeper="score", score="quality-1__good"),
    sources=WIKI,
)
EXACT = Dedupe(name="exact-1", unit=MinHashUnits(ngram=1, bands=4, rows=1, exact=True, least=0.6), sources=WIKI)
USUAL = Dedupe(name="usual-1", unit=MinHashUnits(least=0.55), sources=WIKI)
