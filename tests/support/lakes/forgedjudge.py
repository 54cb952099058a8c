"""What `verify` says of a lake with one forged value, whose digests fit."""

import contextlib
import io
from collections.abc import Iterator

from forgedvalues import Forged
from resealed import Seals
from testkit import Mill

from gristmill.__main__ import main
from gristmill.derivation.tasks import derivation_tasks, derive_task, not_as_declared
from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.lake.asset_kinds import ledger_of_object
from gristmill.lake.ledger.lake_id import LAKE_FILE
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.verification.audit import audit_ledger, audit_reencoding
from gristmill.verification.lake_file import audit_unledgered

_REENCODED = "encoded again"
OPTIONS = ("--raw", "--reconvert", "1", "--retag", "1", "--remix", "1", "--reencode", "1")


class Judge:
    """Knows what `verify` says of the lake as it is.

    Args:
        mill: the lake.
        shelves: the packages with its recipes.
    """

    def __init__(self, mill: Mill, shelves: tuple[str, ...]) -> None:
        self._mill, self._shelves, self.seals = mill, shelves, Seals(mill)
        code, told = self._verify()
        assert code == 0, told
        self._notes = _notes(told)

    def told(self, forged: Forged) -> tuple[str, str]:
        """How a forged value is found, and the words; the lake is as before afterwards.

        Args:
            forged: the value.
        """
        try:
            forged.plant(self._mill)
            if not self.seals.seal(forged.path):
                return "nothing", ""
            notes: list[str] = []
            for finding in self._own(forged.path, notes.append):
                return "own", str(finding)
            own = next((each for each in notes if f"note   {each}" not in self._notes and _REENCODED not in each), "")
            if own:  # `verify` says it too
                return "note", own
            _, told = self._verify()
            found = _findings(told)
            if not forged.path.startswith("releases/"):  # what pins an asset is no proof of it
                found = [each for each in found if not each.startswith("releases/")]
            if found:
                return "late", found[0]
            new = sorted(_notes(told) - self._notes)
            return ("note", new[0]) if new else ("silent", "")
        except Exception as error:  # noqa: BLE001 - whatever it is
            return "crash", repr(error)
        finally:
            self.seals.restore()

    def _own(self, path: str, say: Say) -> Iterator[Finding]:
        """The findings of the proofs of the asset that the object belongs to."""
        mill, whole = self._mill, ShardSample(1)
        if path.startswith("releases/") or path == LAKE_FILE:
            yield from audit_unledgered(mill.store, say, self._shelves)
        ledger = ledger_of_object(path.replace("/order.json", "/resolution/resolution.json"))
        if ledger is None or mill.store.head(ledger) is None:
            return
        yield from audit_ledger(mill.store, ledger, say, first_only=True, shelves=self._shelves)
        samples = dict.fromkeys(("reconvert", "retag", "remix"), whole)
        found: list[Finding] = []
        for task in derivation_tasks(mill.lake, self._shelves, [ledger], samples, say, found):
            result = derive_task(mill.lake, self._shelves, task, first_only=True)
            found += result.findings
            for note in result.notes:
                say(note)
        not_as_declared(mill.lake, self._shelves, [ledger], say, found)
        yield from found
        yield from audit_reencoding(mill.store, ledger, whole, say, set(), first_only=True)

    def _verify(self) -> tuple[int, str]:
        told = io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = main(["verify", str(self._mill.root), "--all", *OPTIONS, "--shelves", ",".join(self._shelves)])
        return code, told.getvalue()


def _notes(told: str) -> set[str]:
    return {line for line in told.splitlines() if line.startswith("note ") and _REENCODED not in line}


def _findings(told: str) -> list[str]:
    lines = [line for line in told.splitlines() if line.startswith(("       ", "WRONG  ")) and ": " in line]
    return [line.removeprefix("WRONG").strip() for line in lines]
