"""What something costs: CPU and wall seconds of a process and everything it starts; and what the machine is."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ONE_CORE = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""Modules are compiled once, as they are for users, whatever this process was told; for all who are measured."""
PACKAGES = ("dagster", "duckdb", "fastokens", "isal", "msgspec", "numpy", "orjson", "tokenizers")


class BenchError(RuntimeError):
    """A program that is measured ended with an error."""


@dataclass(frozen=True)
class Cost:
    """CPU seconds (user and system) and wall seconds."""

    cpu_s: float
    wall_s: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.cpu_s + other.cpu_s, self.wall_s + other.wall_s)

    def plain(self) -> dict[str, float]:
        """As JSON, in milliseconds' precision."""
        return {name: round(value, 3) for name, value in asdict(self).items()}


def timed(command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None, *, code: int = 0) -> Cost:
    """Runs a program from the checkout; its whole process tree is counted, start-up included.

    Args:
        command: the program and its arguments.
        log: takes standard error; `<log>.out` takes standard output.
        env: variables to set besides those of this process.
        code: exit code with which it ends.

    Raises:
        BenchError: it ended with another code.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as errors, Path(f"{log}.out").open("wb") as output:
        begun = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdout=output,
            stderr=errors,
            env={**os.environ, **ONE_CORE, **COMPILED, **(env or {})},
            cwd=ROOT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != code:
        said = log.read_text(errors="replace")[-3_000:]
        raise BenchError(f"{' '.join(map(str, command[:4]))} ended with {process.returncode}:\n{said}")
    return Cost(usage.ru_utime + usage.ru_stime, wall)


def answer(log: Path) -> Any:
    """The last line that a measured program wrote to its standard output, as JSON."""
    return json.loads(Path(f"{log}.out").read_bytes().splitlines()[-1])


@contextmanager
def measured() -> Iterator[list[Cost]]:
    """Adds the cost of what happens within, children that ended included, to the list it gives."""
    costs: list[Cost] = []
    before, begun = _cpu(), time.perf_counter()
    yield costs
    costs.append(Cost(_cpu() - before, time.perf_counter() - begun))


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def peak_memory() -> int:
    """Peak resident bytes of this process since its program was started.

    VmHWM where there is one (Linux): `ru_maxrss` also counts what the parent held when it forked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource  # noqa: PLC0415 - only where there is no /proc

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def machine() -> dict[str, Any]:
    """What was measured on: processor, cores, Python, packages, and how busy it was before."""
    from importlib.metadata import version  # noqa: PLC0415 - what is measured imports this module, and has no use for it

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "load_before": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
