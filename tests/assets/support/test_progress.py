"""Lines of progress: the seconds in front, and of a run's log what ops say, without Dagster's events."""

import re

import dagster as dg

from assets.support.progress import TimedLines, progress_logger


def test_the_seconds_stand_in_front() -> None:
    said: list[str] = []
    TimedLines(said.append)("run sync")
    assert re.fullmatch(r"\[   0\.\d s\] run sync", said[0])


def test_what_an_op_says_is_a_line_and_dagsters_events_are_none() -> None:
    said: list[str] = []

    @dg.op
    def grind(context: dg.OpExecutionContext) -> None:
        context.log.info("4 shards to grind")
        context.log.debug("not for people")

    @dg.job(logger_defs={"progress": progress_logger(said.append)})
    def work() -> None:
        grind()

    work.execute_in_process(run_config={"loggers": {"progress": {}}})
    assert [line.strip() for line in said] == ["grind: 4 shards to grind"]
