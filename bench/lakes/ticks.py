"""The raw-arrival sensor in a process of its own: `python -m bench.lakes.ticks LAKE CHANGED`, with DAGSTER_HOME set.

A first pass reports every snapshot; a pass over what did not change; then the object CHANGED is put again, and passes
follow until its snapshot is reported. A line of JSON says what each cost.
"""

import json
import sys
import time
from typing import Any

import dagster as dg

from assets.support.lake_identity import show_lake
from bench.harness.cost import Cost, measured, peak_memory
from gristmill.environment import read_environment
from gristmill.lake.store.open import open_store
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import Source
from resources.lake import lake_resource
from sensors.raw_arrivals import raw_arrival_sensor

UNDER_WAY = "a pass is under way"


class Ticks:
    """One sensor, ticking as fast as it can; its cursor goes through text, as in the daemon."""

    def __init__(self) -> None:
        self._environment = read_environment()
        self._sensor = raw_arrival_sensor([Source(name="bench", convert=DolmaLines("bench"))], {})
        self._instance = dg.DagsterInstance.get()
        show_lake(self._instance, lake_resource(self._environment).store())
        self._cursor: str | None = None
        self.longest = 0.0
        self.largest = 0

    def whole_pass(self) -> dict[str, Any]:
        """Ticks until a pass is whole; what it cost, and what was said."""
        ticks, said = 0, UNDER_WAY
        with measured() as costs:
            while said.startswith(UNDER_WAY) or "reported at the next tick" in said:
                said = self._tick()
                ticks += 1
        cost: Cost = costs[0]
        return {"ticks": ticks, "said": said, **cost.plain()}

    def _tick(self) -> str:
        begun = time.perf_counter()
        resources = {"lake": lake_resource(self._environment)}
        with dg.build_sensor_context(instance=self._instance, cursor=self._cursor, resources=resources) as context:
            logged: list[str] = []
            context.log.info = lambda text, *_: logged.append(text)  # type: ignore[method-assign]  # to read it
            said: Any = self._sensor(context)
            self._cursor = context.cursor
        self.longest = max(self.longest, time.perf_counter() - begun)
        self.largest = max(self.largest, len(self._cursor or ""))
        words = str(said.skip_message) if isinstance(said, dg.SkipReason) else logged[0]
        return words.removeprefix("bench: ")


def main() -> None:
    """See the module."""
    lake, changed = sys.argv[1:3]
    ticks = Ticks()
    first = ticks.whole_pass()
    unchanged = ticks.whole_pass()
    open_store(lake).put(changed, b"changed")
    noticed: list[dict[str, Any]] = []
    while len(noticed) < 5 and not (noticed and "reported" in noticed[-1]["said"]):
        noticed.append(ticks.whole_pass())
    told = {"first": first, "unchanged": unchanged, "noticed": noticed, "peak": peak_memory()}
    print(json.dumps({**told, "longest tick": ticks.longest, "largest cursor": ticks.largest}))


if __name__ == "__main__":
    main()
