"""JUnit XML whose tests were repeated by pytest-repeat: a row for every test, a run for every repeat."""

import re
from collections import Counter
from collections.abc import Iterable

from gate.readers.base import Reader
from gate.readers.junit_xml import Case, parse_junit
from gate.readers.parsing import refuse
from gate.readers.rows import ROWS_ONLY, Origin, Row, report_of_rows
from gate.report import Report

LIMITS = (
    ROWS_ONLY,
    "an <error> (a broken fixture) is a lost run; parameters that read 1-5, 2-5 to 5-5 are taken for repeats",
)

NOT_RUNS = {
    "agentic-chaos": "agentic-chaos-security's JUnit has one case for all runs of an experiment; give its JSON",
    "promptfoo": "promptfoo's JUnit numbers every repeat as a test of its own; give its JSON (--output out.json)",
    "agent-chaos-gate": "this JUnit was made from a report, a case stands for all runs of a probe; give report.json",
}
"""Writers whose cases are not runs, by the name that they give a suite, and why their files are refused."""

_REPEAT = re.compile(r"(?P<test>[^\[]*)\[(?:(?P<parameters>.*)-)?(?P<index>[1-9]\d{0,5})-(?P<count>[1-9]\d{0,5})\]")


class JUnitReader(Reader):
    """JUnit XML with repeats."""

    type = "junit"
    format = "JUnit XML"

    def handles(self, head: bytes, name: str) -> bool:  # noqa: ARG002  # the bytes say enough
        """Return whether the file begins as XML does."""
        return head.lstrip().startswith(b"<")

    def read(self, data: bytes, source: str) -> Report:
        """Return a row for every test that ran."""
        parsed = parse_junit(data, source)
        for name in parsed.suites:
            if name in NOT_RUNS:
                raise refuse(source, NOT_RUNS[name])
        _check_twice(parsed.cases, source)
        rows, notes = _rows(parsed.cases, source)
        times = sorted(parsed.timestamps)
        origin = Origin(
            tool="JUnit XML",
            limits=[*LIMITS, *notes],
            started_at=times[0] if times else "",
            ended_at=times[-1] if times else "",
        )
        return report_of_rows(rows, origin, source)


def _check_twice(cases: list[Case], source: str) -> None:
    """Refuse a name that stands more than once: retries of pytest-rerunfailures leave nothing else behind."""
    counts = Counter(case.id for case in cases)
    if twice := [f"{name!r:.120} stands {n} times" for name, n in counts.items() if n > 1]:
        raise refuse(
            source,
            f"{twice[0]}{f' (and {len(twice) - 1} more names do)' if twice[1:] else ''} without a mark that tells the "
            "results apart. Retries (pytest-rerunfailures) look like this: each is a result, the last one a pass, so "
            "a flaky test would read as passing",
            fix="repeat tests with pytest-repeat (--count) and without --reruns, in one session",
        )


_Group = tuple[str, int]


def _rows(cases: list[Case], source: str) -> tuple[list[Row], list[str]]:
    """Return the rows of tests that ran, and what is to be known of this file."""
    groups: dict[_Group, dict[int, Case]] = {}
    place: dict[str, _Group] = {}
    for case in cases:
        if (found := _REPEAT.fullmatch(case.name)) is not None and found["count"] != "1":
            parameters = f"[{found['parameters']}]" if found["parameters"] is not None else ""
            place[case.id] = case.id_of(f"{found['test']}{parameters}"), int(found["count"])
            groups.setdefault(place[case.id], {})[int(found["index"])] = case
    whole = {group for group, members in groups.items() if members.keys() == set(range(1, group[1] + 1))}
    rows: dict[str, Row] = {}
    taken: dict[str, _Group | str] = {}
    for case in cases:
        group = place.get(case.id)
        repeated = group if group in whole else None
        name = repeated[0] if repeated else case.id
        if taken.setdefault(name, repeated or case.id) != (repeated or case.id):
            raise refuse(
                source, f"{name!r:.120} stands for two different tests, once with repeats that are counted apart"
            )
        if name not in rows:
            rows[name] = Row(name, ["junit", name], planned=repeated[1] if repeated else 1)
        if case.result != "skipped":
            rows[name].add({"passed": True, "failed": False, "error": None}[case.result], case.message)
    return [r for r in rows.values() if r.runs], list(_notes(cases, groups, whole, rows.values()))


def _notes(
    cases: list[Case], groups: dict[_Group, dict[int, Case]], whole: set[_Group], rows: Iterable[Row]
) -> Iterable[str]:
    partial = [(name, n, len(m)) for (name, n), m in groups.items() if len(m) > 1 and (name, n) not in whole]
    if partial:
        name, n, there = partial[0]
        yield (
            f"{len(partial)} names look like repeats that are not all there, and are rows of their own: "
            f"{name:.60} has {there} of {n}"
        )
    if once := sum(len(r.runs) == 1 for r in rows):
        yield f"{once} tests ran once: a comparison needs repeats to decide anything"
    if skipped := sum(c.result == "skipped" for c in cases):
        yield f"{skipped} results were skipped and are no runs; tests that never ran are left out"
