"""An agent with a package called gate, and none of our marks."""

import subprocess
import sys
from typing import Any


def agent() -> list[Any]:
    """Return what `gate` is here and in an interpreter started from here."""
    import gate

    code = "import gate; print(gate.MINE)"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [getattr(gate, "MINE", False), child.stdout.strip()]
