"""A process as a claim names it: host, number and start. Another process can tell whether it still runs.

The number alone does not tell: the system gives it to another process later. So the claim also has the time at which
the process started, in ticks since the machine booted, and what the numbers belong to: the boot of the machine, and
the namespace of its processes (each container has its own). No clock of one machine is compared with that of another.
"""

import hashlib
import os
import platform
import re
import signal
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec

from gristmill.errors import shorten

_ENDED = frozenset("ZX")
"""States of a process that has ended, though its parent has not asked for its exit code yet."""

_MACHINE_SPACE = "pid:[4026531836]"
"""The namespace of the processes of a machine outside of all containers: the same number in every Linux.

Containers of one image may have the same name and id on several machines, so another boot tells nothing of them.
"""

_NUMBER = re.compile("[1-9][0-9]{0,8}")


class Process(msgspec.Struct, frozen=True):
    """A process, and since when it works. All values are text, so that earlier versions can read the claim.

    Attributes:
        host: name of the machine.
        machine: digest of the machine's id; empty if it has none. Two machines may have the same name.
        boot: id of the machine's boot; empty if the system tells none.
        space: namespace of the process numbers; empty if the system tells none.
        pid: number of the process.
        started: time of its start, in ticks since the boot; empty if the system does not tell.
        since: time when the claim was written, by the clock of that machine: for people only.
    """

    host: str = ""
    machine: str = ""
    boot: str = ""
    space: str = ""
    pid: str = ""
    started: str = ""
    since: str = ""

    def __str__(self) -> str:
        return f"process {shorten(self.pid)} on {shorten(self.host)}"

    def is_same(self, other: "Process") -> bool:
        """Whether both are the same process, whenever they were named."""
        names = [name for name in Process.__struct_fields__ if name != "since"]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def runs(self, here: "Process") -> bool | None:
        """Whether the process still runs.

        Args:
            here: this process.

        Returns:
            None if that cannot be seen from here: it is one of another machine or container.
        """
        if (self.host, self.machine) != (here.host, here.machine):
            return None
        if self.boot != here.boot:
            return False if self.machine and self.space == _MACHINE_SPACE else None
        if self.space != here.space:
            return None
        return bool(_NUMBER.fullmatch(self.pid)) and _is_process_running(int(self.pid), self.started)


def how_ended(code: int) -> str:
    """The end of a process in words, for people: its exit code or signal.

    Args:
        code: its exit code; below zero, the signal that ended it.

    >>> how_ended(2)
    'has ended with exit code 2'
    """
    if code >= 0:
        return f"has ended with exit code {code}"
    number = -code
    name = signal.Signals(number).name if number in set(signal.Signals) else "unknown"
    why = ": a person did it, or the system, whose memory was full" if number == signal.SIGKILL else ""
    return f"was ended by signal {number} ({name}){why}"


def this_process() -> Process:
    """The process that runs this, and the time now."""
    return msgspec.structs.replace(
        _this_process(os.getpid()), since=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    )


@cache
def _this_process(pid: int) -> Process:
    """This process. Its number is an argument, as a fork has another one."""
    machine = _read_proc_file("/etc/machine-id") or _read_proc_file("/var/lib/dbus/machine-id")
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return Process(
        host=platform.node(),
        machine=hashlib.sha256(f"gristmill {machine}".encode()).hexdigest()[:16] if machine else "",  # it is private
        boot=_read_proc_file("/proc/sys/kernel/random/boot_id"),
        space=space,
        pid=str(pid),
        started=_process_state(pid)[1],
    )


def _is_process_running(pid: int, started: str) -> bool:
    """Whether the process of this number runs, and is the one that started then."""
    try:
        os.kill(pid, 0)  # sends nothing; it also finds processes of other users, which /proc may hide
    except ProcessLookupError:
        return False
    except OSError:
        pass
    state, start = _process_state(pid)
    return state not in _ENDED and ("" in {start, started} or start == started)


def _process_state(pid: int) -> tuple[str, str]:
    """State and start of a process; both are empty if the system does not tell."""
    fields = _read_proc_file(f"/proc/{pid}/stat").rpartition(")")[2].split()  # the name before it may hold anything
    return (fields[0], fields[19]) if len(fields) > 19 else ("", "")


def _read_proc_file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
