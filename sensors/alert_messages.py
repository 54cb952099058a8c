"""What is posted about a failure: an alert, and its message for a chat."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assets.support.next_steps import OF_MORE
from gristmill.lake.identity import digest_of

NAMED = 20
"""Most assets or kinds of alerts that a message names."""
_CALLS = str.maketrans({"<": "\u2039", ">": "\u203a", "@": "\uff20"})
"""What makes mentions and links in chats, and the similar characters that do not."""


@dataclass(frozen=True, kw_only=True)
class Alert:
    """What is posted, as JSON, besides `text`, `url`, `lake` and `silenced`.

    Attributes:
        event: `run_failure`, `check_failure`, `source_late`, or `more`: the number of those without a message.
        run: id of the run; empty for `source_late`, as is the next.
        job: name of the run's job.
        assets: addresses of the assets that the run makes, or the one of the check; at most NAMED are posted.
        snapshot: the partition; empty without one.
        check: name of the check; empty for a run.
        error: what went wrong, in the words of the run or the check.
        next: what to do next.
    """

    event: str
    run: str
    job: str
    assets: Sequence[str]
    snapshot: str
    check: str
    error: str
    next: str

    @property
    def topic(self) -> str:
        """Alerts of one topic are posted once in GRISTMILL_WEBHOOK_SILENCE: another snapshot is the same topic."""
        what = self.check or self.job or "of"
        first = f" {self.assets[0]}" if self.assets else ""
        return f"{self.event} {what}{first} #{digest_of([self.job, self.check, *self.assets])[:16]}"


def message_of(alert: Alert, ui: str, left_out: int, lake: str) -> dict[str, Any]:
    """The message of an alert.

    Args:
        alert: the alert.
        ui: address of the UI; empty: no link.
        left_out: number of alerts of its topic that were left out since the last message.
        lake: its address: several deployments may post to one channel.
    """
    page = f"runs/{alert.run}" if alert.run else f"assets/{alert.assets[0]}"
    url = f"{ui}/{page}" if ui else ""
    snapshot = f" ({harmless(alert.snapshot)})" if alert.snapshot else ""
    what = f"{_named(alert)}{snapshot} failed"
    if alert.check:
        what = f"{alert.check} of {alert.assets[0]}{snapshot} failed"
    elif not alert.run:
        what = f"{alert.assets[0]} is late"
    lines = [f"{what}: {harmless(alert.error)}", f"Next: {alert.next}"]
    if left_out:
        lines.append(f"{left_out} more like it since the last message")
    lines += [f"Lake: {lake}", *([url] if url else [])]
    assets = list(alert.assets[:NAMED])
    return {**asdict(alert), "assets": assets, "text": "\n".join(lines), "url": url, "lake": lake, "silenced": left_out}


def message_of_more(left: Mapping[str, int], ui: str, lake: str) -> dict[str, Any]:
    """The message that counts alerts without a message of their own.

    Args:
        left: their number, by topic.
        ui: address of the UI; empty: no link.
        lake: its address.
    """
    named = [f"{topic.partition(' #')[0]}: {number}" for topic, number in list(left.items())[:NAMED]]
    named += [f"{len(left) - NAMED} other kinds"] if len(left) > NAMED else []
    error, number, url = "; ".join(named), sum(left.values()), f"{ui}/runs" if ui else ""
    more = Alert(event="more", run="", job="", assets=(), snapshot="", check="", error=error, next=OF_MORE)
    text = "\n".join([f"{number} more failed: {error}", f"Next: {OF_MORE}", f"Lake: {lake}", *([url] if url else [])])
    return {**asdict(more), "text": text, "url": url, "lake": lake, "silenced": number}


def _named(alert: Alert) -> str:
    """The job of a run. If it is the one that Dagster has for all assets, the assets say more."""
    if not alert.job.startswith("__") or not alert.assets:
        return alert.job
    more = f" and {len(alert.assets) - 1} more" if len(alert.assets) > 1 else ""
    return f"a run of {alert.assets[0]}{more}"


def harmless(words: str) -> str:
    r"""Words of the data for a chat: they call nobody, show no picture, and make no link with other words.

    >>> ascii(harmless("<!channel> @here ![x](http://a)"))
    "'\\u2039!channel\\u203a \\uff20here ![x] (http://a)'"
    """
    return words.translate(_CALLS).replace("](", "] (")
