"""The units of systemd in docs/production: the watchdog says that the code server answers, or is silent."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from deployed import PRODUCTION, free_port
from launched import wait
from paths import python_path

pytestmark = pytest.mark.slow


def unit(name: str) -> dict[str, str]:
    """The settings of a unit; systemd joins lines that end in a backslash."""
    text = re.sub(r"\s*\\\n\s*", " ", (PRODUCTION / name).read_text())
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


def test_runs_go_on_when_the_daemon_ends_or_one_of_them_has_no_memory() -> None:
    daemon = unit("gristmill-daemon.service")
    assert (daemon["KillMode"], daemon["OOMPolicy"], daemon["Restart"]) == ("process", "continue", "always")


def test_the_watchdog_is_more_patient_than_two_questions() -> None:
    code = unit("gristmill-code.service")
    slept, patience = (int(number) for number in re.findall(r"(?:sleep|timeout) (\d+)", code["ExecStart"]))
    assert (slept + patience) * 2 < int(code["WatchdogSec"])
    assert (code["Type"], code["NotifyAccess"], code["WatchdogSignal"]) == ("notify", "all", "SIGKILL")


@pytest.mark.slow
def test_a_code_server_that_answers_nobody_is_silent_to_the_watchdog(tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.touch()
    (tmp_path / "systemd-notify").write_text(f'#!/bin/sh\necho "$@" >> {told}\n')
    (tmp_path / "systemd-notify").chmod(0o755)
    command = unit("gristmill-code.service")["ExecStart"].removeprefix("/bin/sh -c ").strip("'")
    hasty = command.replace("sleep 30", "sleep 0.2").replace("timeout 30", "timeout 10")
    hasty = hasty.replace("-m definitions -d .", "-m gated_jobs").replace(
        "; done &", f" || echo silent >> {told}; done &"
    )
    assert (hasty.count("0.2"), hasty.count("timeout 10"), hasty.count("gated"), hasty.count("silent")) == (1, 1, 1, 1)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": python_path(),
        "GRISTMILL_CODE_HOST": "127.0.0.1",
        "GRISTMILL_CODE_PORT": str(free_port()),
    }
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            ["/bin/sh", "-c", hasty], env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait(lambda: told.read_text().endswith("--ready WATCHDOG=1\n"), "a word to the manager")
        os.kill(server.pid, signal.SIGSTOP)  # the shell has become the server
        wait(lambda: told.read_text().endswith("silent\nsilent\n"), "silence")
        os.kill(server.pid, signal.SIGCONT)
        wait(lambda: told.read_text().endswith("--ready WATCHDOG=1\n"), "a word after the silence")
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
