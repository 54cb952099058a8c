"""A package with one plug-in of each kind, installed beside the wheel in an environment of its own."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from songs import EXTRAS, write_project
from wheel import build, install, installed_wheel, python_of, run

pytestmark = pytest.mark.slow

DAGSTER = """
import json, os
os.environ["GRISTMILL_ENGINE_ADDRESS"] = "river:" + os.path.abspath("told")
import dagster as dg
from gristmill.dagster_location import defs

DOCUMENTS, LENGTHS = "sources/verses/v0/documents", "lengths/short-1/verses"
definitions, instance = defs(), dg.DagsterInstance.ephemeral()
graph = definitions.resolve_asset_graph()
instance.add_dynamic_partitions("snapshots/verses", ["1"])
engine = {"resources": {"engine": {"config": {"kind": "waterwheel"}}}}
key = dg.AssetKey(LENGTHS.split("/"))
job = definitions.resolve_job_def("verses_journey")
done = job.execute_in_process(instance=instance, partition_key="1", run_config=engine, raise_on_error=False)
event = instance.get_latest_materialization_event(key)
checked = {each.check_name: each.passed for each in done.get_asset_check_evaluations()}
print(json.dumps({
    "success": done.success,
    "parents": ["/".join(each.path) for each in graph.get(key).parent_keys],
    "checks": sorted(each.name for each in graph.get(key).check_keys),
    "kinds": sorted(graph.get(key).kinds),
    "group": graph.get(key).group_name,
    "documents": event.asset_materialization.metadata["documents"].value,
    "terse": checked["terse"],
    "rows_proven": checked["rows_proven"],
}))
"""


def test_a_package_adds_one_of_each_kind_to_an_installed_gristmill(tmp_path: Path) -> None:
    assert len([each for each in EXTRAS.rglob("*") if each.is_file() and "__pycache__" not in each.parts]) == 10
    inside = installed_wheel(tmp_path, python_of("3.11") or "python3")
    (wheel,) = build(shutil.copytree(EXTRAS, tmp_path / "extras"), tmp_path / "made", "wheel")
    install(inside, wheel, tmp_path)
    gristmill, here = inside.with_name("gristmill"), tmp_path / "corpus"
    write_project(here)
    for mix in (here / "songbook" / "mixes").glob("[!_]*.py"):
        mix.write_text(mix.read_text().replace('version="v0"', 'version="v0", blocklists=("takedowns",)'))
    (here / "lake" / "blocklists").mkdir()
    (here / "lake" / "blocklists" / "takedowns.jsonl").touch()
    listed = [json.loads(line) for line in run(gristmill, "plugins", "--json", cwd=here).splitlines()]
    assert {each["package"] for each in listed} == {"millextras"}
    kinds = ["readers", "taggers", "transforms", "exports", "engines", "checks", "checks", "commands", "asset_kinds"]
    assert [each["kind"] for each in listed] == kinds
    assert run(gristmill, "tally", "a", "b", cwd=here) == "2\n"

    told = json.loads(run(inside, "-c", DAGSTER, cwd=here).splitlines()[-1])
    assert told == {
        "success": True,
        "parents": ["sources/verses/v0/documents"],
        "checks": ["rows_proven", "rows_proven_audit", "volume"],
        "kinds": ["jsonl", "lengths"],
        "group": "lengths_short_1",
        "documents": 3,
        "terse": True,
        "rows_proven": True,
    }
    assert {"opened", "conversion", "tagging", "packaged"} <= {*(here / "told").read_text().split()}

    run(gristmill, "make", cwd=here)
    said = run(gristmill, "verify", "--all", cwd=here)
    assert "proven lengths/short-1/ledgers/verses/1.json" in said
    assert "proven exports/songs/titles/ledgers/verses/1.json" in said
    traced = run(gristmill, "trace", "-", "verses", "b.txt", cwd=here)
    assert "titles.txt.gz: line 2" in traced
    assert "lengths/short-1/verses/1/b.txt.jsonl.gz: made from its shard" in traced
    (here / "ids").write_text('{"source": "verses", "id": "b.txt"}\n')
    taken = run(gristmill, "takedown", "--ids", "ids", cwd=here)
    assert "lengths/short-1/verses/1/b.txt.jsonl.gz: made from document 0 of its shard" in taken
    run(gristmill, "make", cwd=here)
    run(gristmill, "gc", cwd=here)
    (release,) = (here / "lake/exports/songs/titles/index").glob("release-*/titles.txt.gz")
    assert gzip.decompress(release.read_bytes()) == b"a.txt = The mill\n"
    run(gristmill, "takedown", "--ids", "ids", "--prove", cwd=here)
