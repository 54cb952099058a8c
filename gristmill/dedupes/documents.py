"""Equal documents among the files of packages. Each edition is compared with itself alone."""

from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits

DOCUMENTS = Dedupe(
    name="dedupe-documents-1",
    description="Documents whose text occurred before in the same edition",
    unit=DocumentUnits(),
    sources=("packages/v1",),
    buckets=4,
)
