"""The launchpad shows an engine where something is ground, and nowhere else."""

from dagster_kit import Works


def test_jobs_that_grind_nothing_have_no_engine(works: Works) -> None:
    shown = {}
    for name in ("letters_journey", "blend_index", "tiny_1_train", "audits", "pause", "sync"):
        fields = works.definitions.resolve_job_def(name).run_config_schema.config_type.fields  # type: ignore[attr-defined]
        shown[name] = sorted(fields["resources"].config_type.fields)
    assert {name for name, resources in shown.items() if resources == ["engine"]} == {"letters_journey"}
