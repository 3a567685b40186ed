"""comparison.json, version 1: what base and head together say."""

from typing import Annotated, Literal

from pydantic import Field

from gate.policy import KnownFinding, Model, Name, Policy, Rate, Removed, Severity
from gate.report import Count, Phase, Status, Text, Tool, Total, Usd

Verdict = Literal["pass", "fail", "inconclusive", "no_base"]
RowVerdict = Literal[
    "pass",
    "regressed",
    "small_drop",
    "improved",
    "inconclusive",
    "not_reproduced",
    "new",
    "missing",
    "not_comparable",
]
DecidedBy = Literal["exact_test", "step_down", "confirmation", "sequential"]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
ReasonKind = Literal[
    "regression",
    "new_critical",
    "missing",
    "small_drop",
    "not_comparable",
    "not_reproduced",
    "inconclusive",
    "no_base",
    "infra",
    "no_runs",
]


class Counts(Model):
    """k of n."""

    passes: Count
    runs: Count


class Screen(Model):
    """What was known of a row before base and head were run again for it.

    `base` is absent where it has no such probe; without `p_value` the two could not be compared.
    """

    base: Counts | None
    head: Counts
    p_value: Probability | None


class Row(Model):
    """One probe in one phase: what can be said of head against base.

    `pass_at`: fewest head passes that prove the absence of a drop of `min_effect`; `fail_at`: most head passes that
    prove a regression of this row alone; both absent where no count would. `power`: the chance to see a drop of
    `min_effect` from the base's rate. `decided_by`: what `adjusted_p_value` is. Counts and figures are those that
    decided: fresh ones by `confirmation`, and `screen` has what was known before. `unconfirmed` says why there is no
    confirmation where one was due. `spared`: planned runs of head, beyond its counts, that could change no verdict;
    figures are those of the completion that is least favourable to what they show.
    `first_look`: head's counts before more runs were added, where there were any; what is tested at alpha.
    `history`: the counts in the last stored reports, the oldest first.
    """

    experiment: Name
    probe: Name
    label: Text
    phase: Phase
    severity: Severity
    verdict: RowVerdict
    base: Counts | None
    head: Counts | None
    min_effect: Rate
    p_value: Probability | None = None
    adjusted_p_value: Probability | None = None
    noninferiority_p_value: Probability | None = None
    power: Probability | None = None
    smallest_visible_drop: Probability | None = None
    pass_at: Count | None = None
    fail_at: Count | None = None
    runs_needed: Count | None = None
    decided_by: DecidedBy | None = None
    small_drop: bool = False
    spared: Count = 0
    first_look: Counts | None = None
    screen: Screen | None = None
    unconfirmed: Text = ""
    history: list[Counts] = Field(default=[], max_length=100)


class StatusChange(Model):
    """An experiment's own status differs. `significant`: the exact test tells it from noise."""

    experiment: Name
    base: Status
    head: Status
    reason: Text
    significant: bool


class CriticalFinding(Model):
    """A critical probe that is violated in head. `known` says why it does not block; empty when it is new."""

    experiment: Name
    probe: Name
    label: Text
    phase: Phase
    threshold: Rate
    head: Counts
    base: Counts | None
    p_value: Probability | None
    detail: Text
    known: Text = ""


class Missing(Model):
    """Something that the base has and head lacks; `probe` is absent when the whole experiment is gone."""

    experiment: Name
    probe: Name | None = None
    phase: Phase | None = None
    allowed: Text = ""


class Notice(Model):
    """Something the reader must know that is not a row: `kind` picks the sentence, the rest fills it."""

    kind: Literal[
        "policy_differs",
        "threshold_differs",
        "severity_differs",
        "known_finding_expired",
        "known_finding_too_long",
        "excuse_added",
        "settings_differ",
        "base_is_ancestor",
        "base_is_latest",
        "never_tested",
        "infra",
        "not_confirmed",
        "same_code",
        "other",
    ]
    experiment: Text = ""
    probe: Text = ""
    detail: Text = ""


class Reason(Model):
    """Why the merge is, or would by policy be, blocked; `blocks` is false where the policy only warns."""

    kind: ReasonKind
    blocks: bool
    count: Count
    first: Text = ""


class Side(Model):
    """One of the two reports. `age_commits` and `age_days` say how far the base lies behind what head was built on."""

    commit: Text
    ref: Text = ""
    runs: Count = 0
    tokens: Total = 0
    usd: Usd | None = None
    experiments: Count = 0
    ended_at: Text = ""
    age_commits: Count | None = None
    age_days: Count | None = None


class Drop(Model):
    """One probe in one phase that is worse than in the pinned report; `p_value` is adjusted for all that are compared.

    `spared`: as in `Row`; they count as passes here.
    """

    experiment: Name
    probe: Name
    label: Text
    phase: Phase
    anchor: Counts
    head: Counts
    p_value: Probability
    spared: Count = 0


class Anchor(Model):
    """A pinned report by its tag or file, and what of head is worse: shown, and no part of verdict or exit code.

    `problem`: why nothing is compared. `compared`: so many of its `probes` could be; `changed`: experiments that have
    another definition since, so that theirs could not.
    """

    name: Name
    commit: Text = ""
    problem: Text = ""
    probes: Count = 0
    compared: Count = 0
    worse: list[Drop] = Field(default=[], max_length=100_000)
    changed: list[Name] = Field(default=[], max_length=2_000)


class Comparison(Model):
    """A whole comparison.json. `policy` is the one that was applied.

    `confirmed_with`: the commit whose code ran beside head's to confirm rows; runs, tokens and cost are those of both.
    """

    schema_version: Literal[1] = 1
    tool: Tool = Tool()
    verdict: Verdict
    blocks: bool
    exit_code: Annotated[int, Field(ge=0, le=4)]
    policy: Policy
    base: Side | None
    head: Side
    reasons: list[Reason] = []
    rows: list[Row] = Field(max_length=100_000)
    status_changes: list[StatusChange] = []
    new_critical: list[CriticalFinding] = []
    known_critical: list[CriticalFinding] = []
    missing: list[Missing] = []
    removed: list[Removed] = []
    known_findings: list[KnownFinding] = []
    warnings: list[Notice] = []
    confirmed_with: Side | None = None
    anchor: Anchor | None = None

    def to_json(self) -> str:
        """Return the text of comparison.json, ending in a line feed."""
        return self.model_dump_json(indent=1) + "\n"
