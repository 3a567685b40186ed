"""Reports of several jobs to one: the shards of a suite. Pure."""

from collections.abc import Sequence

from gate.errors import InvalidFileError
from gate.report import ExperimentReport, Report, Spend, Suite


def merge_reports(reports: Sequence[tuple[str, Report]]) -> Report:
    """Return one report with the experiments of all, given as (source, report), sorted by name.

    Every experiment comes from one report: the runs of two legs have the same seeds, so that their sum would claim
    twice the runs and none of the information.

    Raises:
        InvalidFileError: no report, or with every way in which they do not belong together.
    """
    if not reports:
        raise InvalidFileError(["there is no report to merge"], fix="name the reports that the other jobs made")
    first_source, first = reports[0]
    problems = []
    owner: dict[str, str] = {}
    for source, report in reports:
        for what, one, other in (
            ("commit", first.commit, report.commit),
            ("tested tree", first.tested_tree, report.tested_tree),
            ("tool", first.tool.name, report.tool.name),
            ("version of the tool", first.tool.version, report.tool.version),
        ):
            if one != other:
                problems.append(f"{source}: has another {what} than {first_source}")
        if report.policy != first.policy:
            problems.append(f"{source}: has another policy than {first_source}")
        for experiment in report.experiments:
            if (earlier := owner.setdefault(experiment.name, source)) != source:
                problems.append(f"{source}: has experiment {experiment.name!r}, as {earlier} has")
    if len({source for source, _ in reports}) != len(reports):
        problems.append("a report is given twice")
    if problems:
        fix = "give every job other experiments, and merge the reports of one commit only"
        raise InvalidFileError(problems, fix=fix)
    prices = [r.spend.usd for _, r in reports if r.spend.usd is not None]
    seconds = [r.spend.seconds for _, r in reports if r.spend.seconds is not None]
    calls = [r.spend.model_calls for _, r in reports if r.spend.model_calls is not None]
    return first.model_copy(
        update={
            "started_at": min(r.started_at for _, r in reports),
            "ended_at": max(r.ended_at for _, r in reports),
            "suite": Suite(digest="+".join(sorted(r.suite.digest for _, r in reports))[:200]),
            "spend": Spend(
                runs=sum(r.spend.runs for _, r in reports),
                tokens=sum(r.spend.tokens for _, r in reports),
                usd=sum(prices) if len(prices) == len(reports) else None,
                seconds=sum(seconds) if len(seconds) == len(reports) else None,
                model_calls=sum(calls) if len(calls) == len(reports) else None,
            ),
            "experiments": sorted(
                (_in_shard(e, number) for number, (_, r) in enumerate(reports) for e in r.experiments),
                key=lambda e: e.name,
            ),
            "limits": sorted({text for _, r in reports for text in r.limits}),
        }
    )


def _in_shard(experiment: ExperimentReport, number: int) -> ExperimentReport:
    """Return an experiment whose baseline runs are told from those that another job carried out for itself."""
    phases = [
        phase.model_copy(update={"group": f"{phase.group}/{number}"}) if phase.group else phase
        for phase in experiment.phases
    ]
    return experiment.model_copy(update={"phases": phases})
