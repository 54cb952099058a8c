"""Programs of tests that tell their peak memory."""

import subprocess
import sys

_PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return int(status.read().split("VmHWM:")[1].split()[0]) >> 10
"""


def run_with_peak(program: str, *arguments: object) -> str:
    """What a program of Python prints. It may call `peak()`: its peak memory so far in MiB.

    `resource.getrusage` does not fit: its maximum begins with that of the process that started the program.
    """
    given = [sys.executable, "-c", _PEAK + program, *map(str, arguments)]
    return subprocess.run(given, capture_output=True, text=True, check=True).stdout
