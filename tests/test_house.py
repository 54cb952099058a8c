"""The house: which room may import which, and how large a room, a file and a function may be.

A message names the file, the line and the import.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from syntax import parsed, statements

ROOT = Path(__file__).resolve().parent.parent
TOPS = ("gristmill", "resources", "assets", "sensors")
FILES = sorted(path for top in TOPS for path in (ROOT / top).rglob("*.py"))
each_top = pytest.mark.parametrize("files", [[p for p in FILES if (ROOT / top) in p.parents] for top in TOPS], ids=TOPS)
"""One test for all files of a top: a test of each of 400 files would cost more time than what it looks at."""

SHELVES = (
    "sources",
    "taggers",
    "mixes",
    "tokenizers",
    "labels",
    "models",
    "dedupes",
    "exports",
    "watched_folders",
    "transforms",
)
TEST_SHELVES = sorted(p for p in (ROOT / "tests" / "support").rglob("*.py") if p.parent.name in SHELVES)

HUBS = {"errors", "extras", "threads", "lake.address", "lake.identity", "lake.asset_kind", "lake.asset_kinds"}
LAKE = {"lake.store", "lake.rows", "lake.ledger", "lake.fence", *HUBS}
BELOW_STAGES = {"interrupts", "drift", "recipes", "encoding", "execution", "formats.levanter", "text", *LAKE}
SHELF = {
    "recipes",
    "readers",
    "dolma.recipes",
    "energon.recipes",
    "energon.readers",
    "encoding",
    "text",
    "errors",
    "extras",
    "lake.rows",
    "formats.fasttext",
}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "extras": {"errors"},
    "threads": set(),
    "text": {"errors"},
    "reports": {"errors"},
    "lake": {"errors"},
    "lake.address": {"errors", "lake.asset_kind", "lake.asset_kinds"},
    "lake.asset_kind": {"errors"},
    "lake.asset_kinds": {"errors", "lake.asset_kind", "plugins"},
    "lake.identity": {"errors"},
    "lake.fence": {"errors"},
    "lake.store": {"lake.fence", "threads", "extras", "errors"},
    "lake.rows": {"lake.store", "text", *HUBS},
    "lake.ledger": {"lake.store", "lake.rows", "lake.fence", *HUBS},
    "formats.levanter": {"lake.store", "errors"},
    "formats.oscar": {"lake.rows", "text", "errors"},
    "formats.tar": {"errors"},
    "formats.yaml_text": {"errors"},
    "formats.fasttext": {"errors"},
    "encoding": {"recipes", "text", "lake.store", "errors"},
    "recipes": {
        "interrupts",
        "formats.levanter",
        "formats.fasttext",
        "moved",
        "plugins",
        "text",
        *LAKE,
    },
    "raw_data": {"environment", "project", "recipes", "formats.oscar", *LAKE},
    "execution": {"installation", "plugins", "shipped", "interrupts", "process", "formats.levanter", *LAKE},
    "engines": {"execution", "plugins", "interrupts", *LAKE},
    "project": {"errors"},
    "shipped": set(),
    "moved": set(),
    "plugins": {"shipped", "errors"},
    "process": {"errors"},
    "interrupts": set(),
    "pool": {"interrupts", "errors"},
    "installation": {"project", "errors"},
    "dagster_location": {"installation"},
    "dagster_components": {"dagster_location", "templates", "project", "recipes", "errors"},
    "dashboard": {"environment", "project", "installation", "process", "execution", "lake.store", "errors"},
    "peeking": {"readers", "recipes", "formats.tar", "text", "lake.rows", "lake.store", "errors"},
    "templates": {"project", "recipes", "lake.address", "lake.asset_kind", "lake.asset_kinds", "lake.ledger", "errors"},
    "acquisition": {"readers", "reports", "lake.address", "errors"},
    "environment": {"project", "recipes", "engines", "lake.store", "errors"},
    "readers": {
        "recipes",
        "formats.tar",
        "formats.oscar",
        "formats.fasttext",
        "text",
        "lake.rows",
        "extras",
        "moved",
        "errors",
    },
    "stages.kind": {"execution", "plugins", "shipped", "recipes", *LAKE},
    "stages.packaged": {"stages.kind", *BELOW_STAGES},
    "stages.conversion": {"raw_data", *BELOW_STAGES},
    "stages.adoption": {"raw_data", *BELOW_STAGES},
    "stages.tagging": {"stages.models", *BELOW_STAGES},
    "stages.models": {"formats.fasttext", "reports", *BELOW_STAGES},
    "stages.mixing": BELOW_STAGES,
    "stages.fingerprints": {"stages.kind", *BELOW_STAGES},
    "stages.dedupe": {
        "stages.fingerprints",
        "stages.near_duplicates",
        "stages.tagging",
        "stages.kind",
        "reports",
        *BELOW_STAGES,
    },
    "stages.near_duplicates": {"stages.fingerprints", *BELOW_STAGES},
    "stages.tokenization": BELOW_STAGES,
    "stages.chat_templates": {"recipes", "errors"},
    "stages.token_cache": {"stages.tokenization", "stages.chat_templates", "stages.mixing", *BELOW_STAGES},
    "stages.export": {"formats.oscar", "stages.mixing", *BELOW_STAGES},
    "stages.packing": {"stages.token_cache", "stages.mixing", "reports", *BELOW_STAGES},
    "stages.cache_index": {"stages.packing", "stages.token_cache", "stages.mixing", *BELOW_STAGES},
    "releases": {"stages.export", "stages.token_cache", "execution", "recipes", *LAKE},
    "verification": {
        "execution",
        "formats.levanter",
        "raw_data",
        "recipes",
        "releases",
        "scores",
        "stages.adoption",
        "stages.cache_index",
        "stages.conversion",
        "stages.export",
        "stages.kind",
        "stages.mixing",
        "stages.models",
        "stages.packing",
        "stages.token_cache",
        "stages.tokenization",
        "text",
        *LAKE,
    },
    "tracing": {
        "formats.levanter",
        "raw_data",
        "recipes",
        "stages.conversion",
        "stages.export",
        "stages.mixing",
        "stages.token_cache",
        "text",
        *LAKE,
    },
    "maintenance": {
        "execution",
        "formats.levanter",
        "process",
        "releases",
        "scores",
        "stages.export",
        "stages.packing",
        *LAKE,
    },
    "drift": {"reports", "recipes", "text", *LAKE},
    "pipeline": {
        "drift",
        "execution",
        "raw_data",
        "recipes",
        "reports",
        "scores",
        "stages.adoption",
        "stages.cache_index",
        "stages.conversion",
        "stages.dedupe",
        "stages.export",
        "stages.fingerprints",
        "stages.mixing",
        "stages.models",
        "stages.packaged",
        "stages.tagging",
        "stages.token_cache",
        "stages.tokenization",
        "text",
        *LAKE,
    },
    "derivation": {
        "execution",
        "installation",
        "pipeline",
        "recipes",
        "stages.adoption",
        "stages.conversion",
        "stages.dedupe",
        "stages.fingerprints",
        "stages.kind",
        "stages.mixing",
        "stages.tagging",
        "stages.token_cache",
        *LAKE,
    },
    "takedowns": {
        "energon.exports",
        "energon.recipes",
        "execution",
        "formats.levanter",
        "raw_data",
        "recipes",
        "releases",
        "scores",
        "stages.conversion",
        "stages.dedupe",
        "stages.export",
        "stages.fingerprints",
        "stages.kind",
        "stages.mixing",
        "stages.models",
        "stages.near_duplicates",
        "stages.token_cache",
        "stages.tokenization",
        "tracing",
        *LAKE,
    },
    **dict.fromkeys(SHELVES, SHELF),
    "reading": {
        "stages.mixing",
        "stages.tokenization",
        "stages.token_cache",
        "stages.packing",
        "tracing",
        "reports",
        "scores",
        *BELOW_STAGES,
    },
    "trial": {
        "text",
        "reading",
        "recipes",
        "errors",
        "lake.address",
        "lake.identity",
        "lake.rows",
        "lake.ledger",
        "lake.store",
    },
    "scores": {"reports", "recipes", "stages.mixing", *LAKE},
    "previews": {"scores", "reports", "recipes", "text", "stages.mixing", "stages.packing", *LAKE},
    "queries": {"reading", "recipes", "scores", *LAKE},
    "api": {
        "engines",
        "environment",
        "execution",
        "formats.levanter",
        "pipeline",
        "project",
        "reading",
        "recipes",
        "stages.token_cache",
        "stages.tokenization",
        "tracing",
        "verification",
        *LAKE,
    },
    "commands": {
        "acquisition",
        "dashboard",
        "derivation",
        "engines",
        "environment",
        "execution",
        "installation",
        "maintenance",
        "peeking",
        "pipeline",
        "plugins",
        "pool",
        "previews",
        "project",
        "queries",
        "reading",
        "recipes",
        "releases",
        "reports",
        "scores",
        "stages.dedupe",
        "stages.kind",
        "stages.mixing",
        "stages.models",
        "takedowns",
        "templates",
        "text",
        "tracing",
        "trial",
        "verification",
        *LAKE,
    },
    "dolma.formats": {"formats.yaml_text", "lake.identity", "errors"},
    "dolma.recipes": {"dolma.formats", "recipes", "errors"},
    "dolma.tagging": {"dolma.formats", "process", "taggers", *BELOW_STAGES},
    "dolma.dedupe": {"dolma.tagging", *BELOW_STAGES},
    "dolma.mixing": {"dolma.tagging", "dolma.formats", *BELOW_STAGES},
    "dolma.command": {
        "dolma.dedupe",
        "dolma.formats",
        "dolma.mixing",
        "dolma.tagging",
        "commands",
        "engines",
        "environment",
        "execution",
        "lake.store",
        "errors",
    },
    "energon.formats": {"formats.tar", "formats.yaml_text", "errors", "extras"},
    "energon.recipes": {"energon.formats", "formats.tar", "recipes", "extras", "lake.address", "lake.store", "errors"},
    "energon.readers": {"energon.formats", "formats.tar", "readers", "recipes", "lake.rows", "errors"},
    "energon.exports": {"energon.recipes", "energon.formats", "formats.tar", "recipes", *LAKE},
    "energon.preparing": {
        "energon.formats",
        "formats.tar",
        "formats.yaml_text",
        "lake.rows",
        "lake.store",
        "pool",
        "errors",
    },
    "energon.watching": {
        "energon.recipes",
        "energon.preparing",
        "energon.formats",
        "raw_data",
        "lake.identity",
        "lake.store",
        "errors",
    },
    "energon.command": {
        "energon.formats",
        "energon.preparing",
        "commands",
        "environment",
        "execution",
        "lake.store",
        "errors",
    },
    "__main__": {"command_line", "errors"},
    "command_line": {"installation", "plugins", "project", "errors"},
}
"""The rooms of gristmill, and the rooms that each may import besides itself."""

UPPER_HALF = ("verification", "tracing", "maintenance", "pipeline", "derivation", "takedowns", "api", "commands")
"""The rooms above the stages that read most of what is below. MAY_IMPORT lists what these import, no more."""

WINGS = ("dolma", "energon")
"""Sealed rooms: each speaks with one foreign tool. No other room imports them: shipped.py names their doors."""

INTO_A_WING = {
    "assets.watched_folders": "the jobs of watched folders; of Dagster, the wing itself knows nothing",
    "sensors.watched_folders": "the sensors of watched folders",
    "gristmill.takedowns.erasing.named_media": "names the media of erased documents; codecs have no door for this yet",
}
"""Modules outside a wing that import it all the same, each with the reason."""

READERS_TAKE = tuple(f"gristmill.recipes.{name}" for name in ("raw_object", "reader", "row_format", "option_types"))
ORCHESTRATORS = ("dagster", "dagster_aws", "s3fs")
OF_DG = "gristmill.dagster_components"
"""What the command `dg` imports in any environment, before a path leads to the rooms of the Dagster location."""
CLIENTS = {
    "obstore": {"gristmill.lake.store.s3"},
    "boto3": {"gristmill.lake.store.s3_multipart", "gristmill.lake.store.credentials"},
    "botocore": {"gristmill.lake.store.s3_multipart", "gristmill.lake.store.credentials"},
}
FILES_IN_A_FOLDER = 24
LINES_IN_A_FILE = 300
"""Of code: docstrings, comments and empty lines do not count."""
LINES_IN_A_FUNCTION = 50

UNTESTED: dict[str, str] = {
    "assets/packaged.py": "by tests/test_packages.py",
    "gristmill/stages/packaged/grinder.py": "by tests/gristmill/stages/packaged/test_kind.py",
    "gristmill/stages/packaged/step.py": "by tests/gristmill/stages/packaged/test_kind.py",
    "gristmill/lake/store/disk/os_errors.py": "by tests/gristmill/lake/store/test_folder.py",
    "resources/pauses.py": "by tests/assets/test_pausing.py",
    "assets/support/facts/red.py": "by tests/assets/test_lake.py",
    "sensors/raw_looks.py": "by tests/sensors/test_raw_arrivals.py and tests/sensors/test_raw_ticks.py",
    "sensors/following/units.py": "by tests/sensors/test_automation.py",
    "sensors/following/happenings.py": "by tests/sensors/test_automation.py",
    "gristmill/commands/_shared/reading_lines.py": "by tests/gristmill/commands/test_weights.py",
    "gristmill/pipeline/expected_tokens.py": "by tests/gristmill/commands/test_weights.py",
    "gristmill/commands/_shared/selected_mix.py": "by tests/gristmill/commands/test_preview.py",
    "gristmill/dolma/mixing/jq_worker.py": "by tests/gristmill/dolma/mixing/test_jq_process.py",
    "gristmill/recipes/drift/drop_reasons.py": "words, by tests/gristmill/recipes/drift/test_bounds.py",
    "gristmill/recipes/mixture/languages.py": "by tests/gristmill/recipes/mixture/test_origin_columns.py",
    "gristmill/stages/mixing/edits/edited_rows.py": "by tests/gristmill/stages/mixing/edits/test_editor.py",
    "gristmill/previews/row_batches.py": "by tests/gristmill/previews/test_slice_preview.py",
    "gristmill/previews/words.py": "by tests/gristmill/commands/test_preview.py",
    "gristmill/text/units/drawn_numbers.py": "by tests/gristmill/previews/test_slice_preview.py",
    "gristmill/previews/page.py": "by tests/gristmill/commands/test_preview.py",
    "gristmill/scores/parquet_upload.py": "by tests/gristmill/scores/test_label_columns.py",
    "assets/support/facts/resolution_facts.py": "by tests/assets/test_duplicates.py",
    "gristmill/dedupes/documents.py": "declares what the demo compares",
    "gristmill/pipeline/tasks.py": "by tests/gristmill/pipeline/test_planner.py",
    "gristmill/derivation/row_difference.py": "by its doctests",
    "gristmill/stages/token_cache/shard_tokenizer.py": "by tests/gristmill/stages/token_cache/test_grinder.py",
    "gristmill/lake/ledger/folders/whole_folder.py": "by tests/gristmill/stages/models/test_labels.py",
    "gristmill/lake/ledger/shard_sample.py": "by tests/gristmill/derivation/test_tasks.py",
    "gristmill/derivation/comparison.py": "by tests/gristmill/derivation/test_partitions.py",
    "gristmill/derivation/steps.py": "by tests/gristmill/derivation/test_tasks.py",
    "gristmill/stages/dedupe/labels/grinder.py": "by tests/gristmill/stages/dedupe/test_resolution.py",
    "gristmill/stages/dedupe/labels/marked_rows.py": "by tests/gristmill/stages/dedupe/test_resolution.py",
    "gristmill/stages/dedupe/labels/step.py": "by tests/gristmill/stages/dedupe/test_resolution.py",
    "gristmill/lake/ledger/as_written.py": "by tests/gristmill/verification/derived_files/test_as_written.py",
    "gristmill/stages/dedupe/resolution_proof.py": "by tests/gristmill/stages/dedupe/test_resolution.py",
    "sensors/resolutions.py": "by tests/assets/test_duplicates.py",
    "gristmill/raw_data/erasures.py": "by tests/gristmill/stages/conversion/test_step.py",
    "resources/fixed.py": "by tests/resources/test_lake.py",
    "resources/pages/answers.py": "by tests/resources/test_guarded_webserver.py",
    "assets/support/runs/backfills.py": "by tests/test_upstream.py",
    "resources/pages/health_page.py": "by tests/resources/test_guarded_webserver.py",
    "gristmill/stages/dedupe/runs/grinder.py": "by tests/gristmill/stages/dedupe/runs/test_step.py",
    "gristmill/stages/dedupe/round_facts.py": "by tests/gristmill/stages/dedupe/test_resolution.py",
    "gristmill/stages/dedupe/cluster_excerpts.py": "by tests/gristmill/stages/dedupe/test_resolution_report.py",
    "gristmill/reports/table_page.py": "by tests/gristmill/stages/dedupe/test_resolution_report.py",
    "gristmill/stages/fingerprints/repeated_unit.py": "by tests/gristmill/stages/dedupe/test_largest_clusters.py",
    "gristmill/stages/dedupe/verdicts/grinder.py": "by tests/gristmill/stages/dedupe/verdicts/test_step.py",
    "gristmill/stages/dedupe/marks/first_occurrences.py": "by tests/gristmill/stages/dedupe/marks/test_confirmation.py",
    "gristmill/stages/dedupe/marks/grinder.py": "by tests/gristmill/stages/dedupe/marks/test_step.py",
    "gristmill/stages/near_duplicates/cluster_files.py": "by tests/gristmill/stages/near_duplicates/test_step.py",
    "gristmill/stages/near_duplicates/earlier_clusters.py": (
        "by tests/gristmill/stages/near_duplicates/test_grouping.py"
    ),
    "gristmill/stages/near_duplicates/inputs.py": "by tests/gristmill/stages/near_duplicates/test_step.py",
    "gristmill/stages/near_duplicates/marks/grinder.py": "by tests/gristmill/stages/near_duplicates/marks/test_step.py",
    "gristmill/stages/near_duplicates/printed_documents.py": (
        "by tests/gristmill/stages/near_duplicates/pairs/test_exact_similarity.py"
    ),
    "gristmill/stages/near_duplicates/score_values.py": "by tests/gristmill/stages/near_duplicates/test_step.py",
    "gristmill/stages/near_duplicates/pairs/similarity.py": (
        "by tests/gristmill/stages/near_duplicates/pairs/test_signature_rows.py"
    ),
    "gristmill/stages/fingerprints/kind.py": "by tests/gristmill/stages/fingerprints/test_part_proof.py",
    "gristmill/stages/dedupe/kinds.py": "by tests/gristmill/stages/fingerprints/test_part_proof.py",
    "gristmill/lake/asset_kind.py": "by tests/gristmill/lake/test_asset_kinds.py",
    "gristmill/stages/fingerprints/grinder.py": "by tests/gristmill/stages/fingerprints/test_step.py",
    "gristmill/stages/fingerprints/part_writer.py": "by tests/gristmill/stages/fingerprints/test_step.py",
    "gristmill/stages/fingerprints/reader.py": "by tests/gristmill/stages/fingerprints/test_step.py",
    "gristmill/stages/fingerprints/units_of_texts.py": "by tests/gristmill/stages/fingerprints/test_step.py",
    "gristmill/recipes/edits/carried.py": "two names: by its doctests",
    "gristmill/recipes/edits/named_labels.py": "by tests/gristmill/recipes/test_catalogue.py",
    "gristmill/stages/mixing/carrying/grinder.py": "by tests/gristmill/stages/mixing/carrying/test_step.py",
    "gristmill/recipes/duplicates/units.py": "by tests/gristmill/recipes/duplicates/test_dedupe.py",
    "gristmill/templates/new_recipe.py": "by tests/gristmill/test_dagster_components.py",
    "gristmill/takedowns/own_objects.py": "by tests/gristmill/takedowns/test_accounted.py",
    "gristmill/takedowns/erasing/erasure.py": "by tests/gristmill/commands/test_erase.py",
    "gristmill/takedowns/due.py": "by tests/gristmill/commands/test_takedown.py",
    "gristmill/takedowns/places.py": "by tests/gristmill/commands/test_takedown.py",
    "gristmill/takedowns/side_files.py": "by tests/gristmill/commands/test_takedown.py",
    # assets and sensors
    "assets/support/facts/folder_facts.py": "by tests/assets/test_models.py",
    "gristmill/labels/rude_remarks.py": "by tests/gristmill/models/test_toxicity.py",
    "gristmill/recipes/models/checks.py": "by tests/gristmill/recipes/test_catalogue.py",
    "gristmill/stages/near_duplicates/mark_records.py": "declares a type",
    "gristmill/recipes/label.py": "by tests/gristmill/recipes/test_tagger.py",
    "gristmill/reports/classifier.py": "by tests/gristmill/stages/models/test_training.py",
    "gristmill/stages/models/ledger.py": "by tests/gristmill/stages/models/test_training.py",
    "gristmill/stages/models/proof.py": "by tests/gristmill/stages/models/test_training.py",
    "assets/watched_folders.py": "by tests/sensors/test_watched_folders.py",
    "gristmill/energon/recipes/watched_folder.py": "by tests/gristmill/energon/watching/test_prepare.py",
    "gristmill/lake/ledger/derived.py": "by tests/gristmill/scores/test_column_file.py",
    "assets/documents.py": "by tests/assets/test_runs.py and tests/sensors/test_raw_ticks.py",
    "assets/support/facts/partition_facts.py": "by tests/assets/test_sync.py and tests/assets/test_runs.py",
    "assets/mixes.py": "declares what runs make: by tests/assets/test_runs.py",
    "assets/support/mill.py": "by tests/gristmill/commands/test_run.py",
    "assets/tokens/token_caches.py": "declares what runs make: by tests/assets/test_runs.py",
    # gristmill
    "gristmill/text/desktop_names.py": "by its doctests and tests/gristmill/readers/test_archive.py",
    "gristmill/text/unicode/assigned.py": "by tests/gristmill/text/characters/test_sets.py",
    "gristmill/text/huge/word_shares.py": "by tests/gristmill/taggers/test_blocks.py",
    "gristmill/dolma/tagging/spans.py": "by tests/real_dolma/test_real_tag.py",
    "gristmill/dolma/tagging/lengths.py": "by tests/real_dolma/test_real_tag.py",
    "gristmill/dolma/tagging/rules.py": "by tests/real_dolma/test_real_tag.py",
    "gristmill/dolma/tagging/grinder.py": "by tests/gristmill/dolma/tagging/test_tagging.py",
    "gristmill/dolma/tagging/records.py": "by tests/gristmill/dolma/tagging/test_tagging.py",
    "gristmill/dolma/tagging/attribute_folder.py": "by tests/gristmill/dolma/tagging/test_tagging.py",
    **dict.fromkeys(
        (
            "gristmill/dolma/formats/path_steps.py",
            "gristmill/dolma/formats/path_conditions.py",
        ),
        "by tests/gristmill/dolma/formats/test_path_parser.py",
    ),
    **dict.fromkeys(
        (
            "gristmill/dolma/mixing/grinder.py",
            "gristmill/dolma/mixing/line_feed.py",
            "gristmill/dolma/mixing/mixed_files.py",
            "gristmill/dolma/mixing/span_replacer.py",
            "gristmill/dolma/mixing/stream_filter.py",
            "gristmill/dolma/mixing/stream_mixer.py",
        ),
        "by tests/gristmill/dolma/mixing/test_mixing.py",
    ),
    **dict.fromkeys(
        (
            "gristmill/recipes/dolma/dolma_mix.py",
            "gristmill/recipes/energon/watched_folder.py",
            "gristmill/recipes/export_formats/energon.py",
            "gristmill/readers/energon/json_lines.py",
            "gristmill/readers/energon/webdataset.py",
        ),
        "by tests/gristmill/test_moved.py",
    ),
    "gristmill/dolma/recipes/mapped_names.py": "by tests/gristmill/dolma/recipes/test_dolma_mix.py",
    "gristmill/dolma/dedupe/marking.py": "by tests/gristmill/dolma/dedupe/test_units.py",
    "gristmill/text/overlaps/index.py": "by tests/gristmill/text/overlaps/test_finder.py",
    "gristmill/text/overlaps/text_words.py": "by tests/gristmill/text/overlaps/test_finder.py",
    "gristmill/text/overlaps/word_filter.py": "by tests/gristmill/text/overlaps/test_finder.py",
    "gristmill/commands/plugins.py": "by tests/gristmill/test_plugins.py",
    "gristmill/recipes/export_formats/codec.py": "by tests/gristmill/test_plugins.py",
    "gristmill/recipes/export_formats/part_files.py": "nouns and protocols",
    "gristmill/recipes/export_formats/release_files.py": "nouns",
    "gristmill/recipes/export_formats/options.py": "by tests/gristmill/recipes/test_export.py",
    "gristmill/recipes/export_formats/not_taken.py": "a type",
    "gristmill/recipes/export_formats/sample_start.py": "a type",
    "gristmill/recipes/export_formats/cuts.py": "by tests/gristmill/stages/export/test_oscar.py",
    "gristmill/energon/exports/document_values.py": "by tests/gristmill/energon/exports/test_jsonl.py",
    "gristmill/energon/exports/line_file.py": "by tests/gristmill/energon/exports/test_jsonl.py",
    "gristmill/energon/exports/mixture.py": "by tests/gristmill/energon/exports/test_webdataset.py",
    "gristmill/energon/exports/row_fields.py": "by tests/gristmill/energon/exports/test_jsonl.py",
    "gristmill/energon/exports/splits.py": "by tests/gristmill/energon/exports/test_jsonl.py",
    "gristmill/energon/exports/tar_files.py": "by tests/gristmill/energon/exports/test_webdataset.py",
    "gristmill/energon/exports/webdataset_part.py": "by tests/gristmill/energon/exports/test_webdataset.py",
    "gristmill/recipes/export_formats/formats.py": "by tests/gristmill/test_plugins.py",
    "gristmill/stages/export/grinder.py": "by tests/gristmill/stages/export/test_step.py",
    "gristmill/tracing/parts.py": "by tests/assets/test_exports.py",
    "gristmill/acquisition/real_input.py": "by tests/gristmill/commands/test_acquire.py",
    **dict.fromkeys(
        (
            "gristmill/energon/preparing/metadataset/leaves.py",
            "gristmill/energon/preparing/metadataset/shown.py",
        ),
        "by tests/gristmill/energon/preparing/metadataset/test_check.py",
    ),
    "gristmill/energon/preparing/options.py": "by tests/gristmill/energon/test_command.py",
    "gristmill/energon/preparing/files.py": "by tests/gristmill/energon/preparing/test_prepare.py",
    "gristmill/energon/preparing/flaw.py": "by tests/gristmill/energon/preparing/test_lint.py",
    "gristmill/energon/preparing/index_file.py": "by tests/gristmill/energon/preparing/test_prepare.py",
    "gristmill/energon/preparing/preview.py": "by tests/gristmill/energon/preparing/test_info.py",
    "gristmill/energon/preparing/shards.py": "by tests/gristmill/energon/preparing/test_prepare.py",
    "gristmill/energon/preparing/split_file.py": "by tests/gristmill/energon/preparing/test_lint.py",
    "gristmill/commands/sync.py": "by tests/gristmill/commands/test_run.py",
    "gristmill/dagster_location.py": "by tests/gristmill/test_installation.py",
    "gristmill/engines/dask.py": "by tests/gristmill/engines/test_cluster.py",
    "gristmill/engines/ray.py": "by tests/gristmill/engines/test_cluster.py",
    "gristmill/execution/work.py": "nouns that travel as JSON, and protocols",
    "gristmill/formats/tar/extended_headers.py": "by tests/gristmill/formats/tar/test_walk.py",
    "gristmill/formats/tar/header_sums.py": "by tests/gristmill/formats/tar/test_walk.py",
    "gristmill/formats/tar/headers.py": "by tests/gristmill/formats/tar/test_walk.py",
    "gristmill/formats/tar/tar_bytes.py": "by tests/gristmill/formats/tar/test_walk.py",
    "gristmill/formats/levanter/dtype.py": "the names of types",
    "gristmill/lake/rows/document.py": "two nouns without a branch",
    "gristmill/exports/energon.py": "a declaration; the catalogue checks what it names",
    "gristmill/mixes/starter.py": "a declaration; the catalogue checks what it names",
    "gristmill/releases/card_files.py": "by tests/gristmill/verification/derived_files/test_pinned_release.py",
    "gristmill/text/pieces.py": "by tests/gristmill/text/test_lines.py and tests/gristmill/text/test_words.py",
    "gristmill/verification/index_files.py": "by tests/gristmill/verification/test_indexes.py",
    "gristmill/tokenizers/starter_bpe.py": "by tests/gristmill/verification/test_ids_across.py",
}
"""Modules without a test file of their name, each with the reason.

`by FILE`: proven by another file, which is named. Else the module decides nothing, and the reason says why.
"""


MODULES = frozenset(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in FILES)


@cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    found: list[tuple[str, int]] = []
    for node in statements(parsed(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.relative_to(ROOT)}:{node.lineno}: relative import"
            found.append((node.module or "", node.lineno))
    return tuple(found)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def room_of(module: str) -> str:
    """The room of a module inside gristmill: two folders deep in lake, stages, formats and wings, else one."""
    parts = module.split(".")[1:]
    deep = len(parts) > 1 and parts[0] in {"lake", "stages", "formats", *WINGS}
    return ".".join(parts[:2]) if deep else parts[0] if parts else "gristmill"


@each_top
def test_a_file_imports_only_rooms_that_its_room_may_import(files: list[Path]) -> None:
    for path in files:
        here = module_of(path)
        top = here.split(".")[0]
        for module, line in imports(path):
            where = f"{path.relative_to(ROOT)}:{line}: {module}"
            other = module.split(".")[0]
            assert other != "definitions", f"{where}: nobody imports definitions"
            if other in TOPS:
                assert TOPS.index(other) <= TOPS.index(top), f"{where} reaches up"
            if top != "gristmill":
                continue
            assert here in CLIENTS.get(other, {here}), f"{where}: only lake/store speaks to buckets"
            assert other not in ORCHESTRATORS or (here, other) == (OF_DG, "dagster"), (
                f"{where}: gristmill knows no orchestrator and no other cloud client"
            )
            room, target = room_of(here), room_of(module)
            if other == "gristmill" and target not in {room, "gristmill"}:
                assert target in MAY_IMPORT[room], f"{where}: {room} may not import {target}"
            if room in SHELVES and other == "gristmill":
                assert target != room, f"{where}: recipes do not import each other"
            if room in {"readers", "energon.readers"} and target == "recipes":
                assert module in READERS_TAKE, f"{where}: of recipes, readers import {READERS_TAKE}"


def test_nothing_outside_a_wing_imports_it_but_recipes_on_shelves() -> None:
    shelves = tuple(f"gristmill.{shelf}." for shelf in SHELVES)
    found = {
        module_of(path): module
        for path in FILES
        if not module_of(path).startswith(shelves)
        for module, _ in imports(path)
        for wing in (f"gristmill.{wing}." for wing in WINGS)
        if f"{module}.".startswith(wing) and not module_of(path).startswith(wing)
    }
    assert found.keys() - INTO_A_WING.keys() == set(), f"name a door in gristmill/shipped.py: {found}"
    assert INTO_A_WING.keys() - found.keys() == set(), "not needed in INTO_A_WING any more"


def test_the_rooms_above_the_stages_list_what_they_import_and_no_more() -> None:
    found = defaultdict[str, set[str]](set)
    for path in FILES:
        if path.is_relative_to(ROOT / "gristmill"):
            found[room_of(module_of(path))] |= {
                room_of(name) for name, _ in imports(path) if name.startswith("gristmill.")
            }
    for room in UPPER_HALF:
        assert MAY_IMPORT[room] - LAKE - found[room] == set(), f"MAY_IMPORT: {room} does not import these rooms"


def test_a_recipe_imports_the_public_face_alone() -> None:
    for path in TEST_SHELVES:
        for module, line in imports(path):
            if module.split(".")[0] == "gristmill":
                shipped = path.parent.name  # a team may put a recipe of ours on its own shelf
                where = f"{path.relative_to(ROOT)}:{line}"
                assert room_of(module) in {*SHELF, shipped}, f"{where}: a recipe imports {module}"


def test_a_recipe_that_imports_a_stage_is_found(tmp_path: Path) -> None:
    recipe = tmp_path / "hasty.py"
    recipe.write_text("from gristmill.stages.tagging.grinder import TaggingGrinder\n")
    assert [room_of(module) in SHELF for module, _ in imports(recipe)] == [False]


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = {module_of(path): path for path in FILES}
    below: dict[str, set[str]] = {}
    for name, path in known.items():
        named = {module for module, _ in imports(path)}
        below[name] = {module for module in named if module in known and module != name}
    while True:  # what imports nothing that is left is in no circle
        free = {name for name, needs in below.items() if not needs}
        if not free:
            break
        below = {name: needs - free for name, needs in below.items() if name not in free}
    assert below == {}


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (n for n in statements(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def lines_of_code(path: Path) -> int:
    """The number of lines that are neither empty nor a comment nor in a docstring."""
    documented: set[int] = set()
    for node in statements(parsed(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documented |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    lines = enumerate(map(str.strip, path.read_text().splitlines()), 1)
    return sum(1 for number, line in lines if line and line[0] != "#" and number not in documented)


@each_top
def test_files_and_functions_are_short(files: list[Path]) -> None:
    for path in files:
        lines = lines_of_code(path)
        assert lines <= LINES_IN_A_FILE, f"{path.relative_to(ROOT)} has {lines} lines of code: make it two"
        for function in functions(parsed(path)):
            lines = (function.end_lineno or 0) - function.lineno + 1
            where = f"{path.relative_to(ROOT)}:{function.lineno}: {function.name}"
            assert lines < LINES_IN_A_FUNCTION, f"{where} has {lines} lines"


def test_folders_hold_few_files() -> None:
    commands = ROOT / "gristmill" / "commands"  # one file for each subcommand, and nothing else
    counts = Counter(p.parent for p in FILES if p.name != "__init__.py" and p.parent != commands)
    assert {str(folder.relative_to(ROOT)): n for folder, n in counts.items() if n > FILES_IN_A_FOLDER} == {}


@each_top
def test_no_code_asserts_prints_or_swallows(files: list[Path]) -> None:
    for path in files:
        for node in statements(parsed(path)):
            wrong = ""
            if isinstance(node, ast.Assert):
                wrong = "assert outside tests"
            elif isinstance(node, ast.ExceptHandler) and node.type is None:
                wrong = "bare except"
            elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                wrong = "bare Exception" if ast.unparse(node.exc.func) == "Exception" else ""
            assert not wrong, f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}: {wrong}"
        if "commands" not in path.parts and path.name != "__main__.py" and "print(" in path.read_text():
            called = {node.func for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)}
            prints = [node for node in called if isinstance(node, ast.Name) and node.id == "print"]
            assert not prints, f"{path.relative_to(ROOT)}:{prints[0].lineno}: print"


def test_environment_variables_are_read_in_one_file() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for path in FILES
        if any(word in path.read_text() for word in ("os.environ.get", "os.getenv", "environ["))
    }
    assert readers <= {"gristmill/environment.py"}


def test_asset_files_import_only_what_they_share() -> None:
    for path in (path for path in (ROOT / "assets").rglob("*.py") if "support" not in path.parts):
        for module, line in imports(path):
            if module.startswith("assets."):
                assert module.split(".")[1] in {"support", "checks"}, f"{path.name}:{line} imports {module}"


def test_package_files_are_empty() -> None:
    first, *others = [ROOT / "gristmill" / "__init__.py", *(path for path in FILES if path.name == "__init__.py")]
    reason = "a notebook begins with `import gristmill`, which loads nothing until a name is asked for"
    assert {module for module, _ in imports(first)} == {"typing", "importlib"}, reason
    assert [str(path) for path in others if path != first and path.read_text().strip()] == []


def file_of_tests(module: str) -> Path:
    """The test file of a module: the same folder below tests, the same name without underscores at its ends."""
    path = Path("tests", module)
    return ROOT / path.with_name(f"test_{path.stem.strip('_')}.py")


def test_every_module_that_decides_has_a_test_file_of_its_name() -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in FILES if path.name != "__init__.py"}
    missing = {module for module in modules if not file_of_tests(module).exists()}
    assert missing - UNTESTED.keys() == set(), "write the test file, or give the reason in UNTESTED"
    assert UNTESTED.keys() - missing == set(), "not needed in UNTESTED any more"
    for module, reason in UNTESTED.items():
        for named in re.findall(r"tests/\S+\.py", reason):
            assert (ROOT / named).exists(), f"{module} is proven by {named}, which is not there"


def test_no_two_classes_have_one_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in statements(parsed(path)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def floors() -> dict[str, int]:
    """The floor of each room of gristmill: one above the highest room that it imports."""
    below: dict[str, set[str]] = {}
    for path in FILES:
        here = module_of(path)
        if here.startswith("gristmill.") and path.name not in {"__init__.py", "__main__.py"}:
            targets = {room_of(module) for module, _ in imports(path) if module.startswith("gristmill.")}
            below.setdefault(room_of(here), set()).update(targets - {room_of(here)})
    found: dict[str, int] = {}
    while len(found) < len(below):
        free = {room for room in below.keys() - found.keys() if below[room] <= found.keys()}
        assert free, f"rooms import each other in a circle: {sorted(below.keys() - found.keys())}"
        found |= {room: max((found[each] + 1 for each in below[room]), default=0) for room in free}
    return found


def test_the_drawing_of_the_rooms_is_that_of_the_imports() -> None:
    rooms = floors()
    lines = [
        f"floor {floor}  {'  '.join(sorted(room for room, at in rooms.items() if at == floor))}"
        for floor in sorted(set(rooms.values()), reverse=True)
    ]
    page = (ROOT / "docs" / "internals" / "architecture.md").read_text()
    assert "\n".join(lines) in page


@each_top
def test_private_names_stay_in_their_module(files: list[Path]) -> None:
    for path in files:
        for node in statements(parsed(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in TOPS:
                names = [alias.name for alias in node.names if f"{node.module}.{alias.name}" not in MODULES]
                private = [name for name in names if name.startswith("_")]
                assert private == [], f"{path.relative_to(ROOT)}:{node.lineno}: {private} of {node.module}"


def test_no_test_packs_the_present_second_into_gzip() -> None:
    """Else two processes collect tests with different names, and two lakes that should be equal differ."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if "gzip.compress(" in path.read_text("utf-8")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "gzip.compress"
        and all(keyword.arg != "mtime" for keyword in node.keywords)
    ]
    assert found == [], "give mtime=0"
