"""The three steps of the GitHub action: prepare (token), run (no token), publish (token). Files pass between them.

`state/` is written by prepare and sealed by the action before the agent runs; `results/` is written by run, so that
everything in it is hostile input to publish.
"""

from pathlib import Path
from typing import Literal

from gate.config import read_inputs, read_job
from gate.errors import GateError
from gate.pipeline.step import Failure, Say, Step, clear_folder


def perform(name: Literal["prepare", "run", "publish"], state: Path, results: Path, say: Say) -> int:
    """Do one step of the action and return its exit code.

    Raises:
        GateError: the step cannot be done; a reason that the check run shows is kept for publish.
    """
    step = Step(state, results, say, read_inputs(), read_job())
    if name == "prepare":
        from gate.pipeline.prepare import prepare

        return prepare(step)
    if name == "publish":
        from gate.pipeline.publish import publish

        return publish(step)
    from gate.pipeline.run import run

    try:
        return run(step)
    except GateError as error:
        clear_folder(results)
        failure = Failure(exit_code=error.exit_code, message=str(error)[:4_000])
        (results / "failure.json").write_text(failure.model_dump_json(), encoding="utf-8")
        raise
