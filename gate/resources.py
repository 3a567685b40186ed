"""Where the files lie that come with the package: beside it in a checkout, inside it in a wheel."""

from pathlib import Path

from gate.errors import GateError

_PACKAGE = Path(__file__).resolve().parent


def resource(name: str) -> Path:
    """Return the path of `templates` or `experiments`.

    Raises:
        GateError: the installation is incomplete.
    """
    for place in (_PACKAGE / name, _PACKAGE.parent / name):
        if place.exists():
            return place
    raise GateError(f"{name} is not part of this installation", where=str(_PACKAGE), fix="install the package again")
