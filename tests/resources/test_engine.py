import dagster as dg
import pytest

from gristmill.engines.local import LocalPool
from gristmill.environment import read_environment
from gristmill.errors import RecipeError
from resources.engine import EngineChoice, RunEngine, engine_resource


def test_workers_stay_from_step_to_step_and_end_with_the_run() -> None:
    chosen = RunEngine(EngineChoice("local", 1, force=False), "")
    engine = chosen.engine()
    assert isinstance(engine, LocalPool)
    assert chosen.engine() is engine
    chosen.close()
    assert chosen.engine() is not engine
    chosen.close()


def test_a_run_takes_what_the_deployment_says() -> None:
    given = {"GRISTMILL_ENGINE": "ray", "GRISTMILL_ENGINE_ADDRESS": "10.0.0.1:6379", "GRISTMILL_WORKERS": "7"}
    with dg.build_resources({"engine": engine_resource(read_environment(given))}) as resources:
        found = resources.engine
    assert found.choice == EngineChoice("ray", 7, force=False)
    assert found.address == "10.0.0.1:6379"


@dg.op(required_resource_keys={"engine"})
def grind() -> None:
    """Needs the engine."""


@pytest.mark.parametrize("workers", [0, -1, 257])
def test_a_number_of_workers_out_of_bounds_is_refused_before_there_is_a_run(workers: int) -> None:
    job = dg.GraphDefinition("works", node_defs=[grind]).to_job(
        resource_defs={"engine": engine_resource(read_environment({}))}
    )
    words = f"resources.engine.config.workers is {workers}; give 1 to 256"
    with dg.DagsterInstance.ephemeral() as instance:
        with pytest.raises(dg.DagsterConfigMappingFunctionError) as error:
            job.execute_in_process({"resources": {"engine": {"config": {"workers": workers}}}}, instance)
        assert isinstance(error.value.__cause__, RecipeError)
        assert words in str(error.value.__cause__)
        assert instance.get_runs() == []
