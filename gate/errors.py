"""Every way the gate can fail, with its exit code: the only place that knows exit codes."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process ends with. A number is never reused for another meaning."""

    OK = 0  # nothing blocks
    BLOCKED = 1  # regression, new critical finding, missing experiment
    USAGE = 2  # wrong command line or invalid file
    INCONCLUSIVE = 3  # no proof either way, and the policy says that blocks
    ENVIRONMENT = 4  # the agent does not start, no valid run, git or GitHub unreachable where required
    BUG = 70  # a fault of the gate itself


class GateError(Exception):
    """A failure with its cause and its way out.

    Args:
        what: what happened, one sentence without a full stop.
        where: the file, key path or line; empty if there is none.
        fix: what the user can do about it; empty if unknown.
    """

    exit_code = ExitCode.BUG

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        super().__init__(self.__str__())

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  fix: {self.fix}" if self.fix else text


class UsageError(GateError):
    """The command line or an input is wrong."""

    exit_code = ExitCode.USAGE


class InvalidFileError(UsageError):
    """Files that do not match their format. `problems` lists every one found, each with its place."""

    def __init__(self, problems: list[str], *, fix: str = "") -> None:
        self.problems = problems
        super().__init__("\n".join(problems), fix=fix)


class BrokenEnvironmentError(GateError):
    """Something around the gate does not work: the agent's interpreter, git, the network, GitHub."""

    exit_code = ExitCode.ENVIRONMENT
