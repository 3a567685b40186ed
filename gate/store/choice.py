"""Which stored report is the base of a comparison."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from gate.report import Report
from gate.store.base import Store

MAX_ANCESTORS = 100

How = Literal["exact", "ancestor", "latest", "pinned"]


@dataclass(frozen=True)
class Base:
    """A base report and how it was chosen.

    `exact`: of the very commit; `ancestor`: of the nearest first-parent ancestor that has one; `latest`: the last of
    the branch, which may know nothing of the commit; `pinned`: the only one there is. `age_commits` counts first-parent
    steps, `age_days` days since the report ended; each is None where unknown.
    """

    report: Report
    how: How
    age_commits: int | None
    age_days: int | None


def choose_base(store: Store, ancestors: Iterable[str], ref: str, *, now: datetime, skip: str = "") -> Base | None:
    """Return the best base that is stored, or None.

    Args:
        ancestors: the commit that head was built on and its first-parent ancestors, nearest first; drawn only as far
            as needed, at most `MAX_ANCESTORS` behind the first.
        ref: the branch whose latest report is the last resort.
        skip: a commit that is no base: the one that is judged.
    """
    if store.pinned:
        report = store.latest(ref)
        return Base(report, "pinned", None, _days(report, now)) if report else None
    stored = store.commits() - {skip}
    if not stored:
        return None
    for age, commit in enumerate(itertools.islice(ancestors, MAX_ANCESTORS + 1)):
        if commit in stored and (report := store.load(commit)) is not None:
            return Base(report, "ancestor" if age else "exact", age, _days(report, now))
    for entry in reversed(store.history(ref)):
        if entry.commit != skip and (report := store.load(entry.commit)) is not None:
            return Base(report, "latest", None, _days(report, now))
    return None


def _days(report: Report, now: datetime) -> int | None:
    try:
        ended = datetime.fromisoformat(report.ended_at)
    except ValueError:
        return None
    ended = ended if ended.tzinfo else ended.replace(tzinfo=UTC)
    return max(0, (now - ended).days)
