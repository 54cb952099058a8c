import dagster as dg

from gristmill.engines.local import LocalPool
from gristmill.environment import read_environment
from resources.engine import EngineResource, engine_resource


def test_workers_stay_from_step_to_step_and_end_with_the_run() -> None:
    resource = EngineResource(deployment=read_environment({}), kind="local", workers=1)
    engine = resource.engine()
    assert isinstance(engine, LocalPool)
    assert resource.engine() is engine
    resource.teardown_after_execution(dg.build_init_resource_context())
    assert resource.engine() is not engine
    resource.teardown_after_execution(dg.build_init_resource_context())


def test_a_run_takes_what_the_deployment_says() -> None:
    given = {"GRISTMILL_ENGINE": "ray", "GRISTMILL_ENGINE_ADDRESS": "10.0.0.1:6379", "GRISTMILL_WORKERS": "7"}
    found = engine_resource(read_environment(given))
    assert (found.kind, found.workers, found.deployment.address, found.force) == ("ray", 7, "10.0.0.1:6379", False)
