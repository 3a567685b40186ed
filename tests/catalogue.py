"""The public package and its published experiments, as `make setup` unpacked them beside the environment."""

import importlib
import sys
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).parents[1] / ".venv" / "catalogue"
SOURCE = CATALOGUE / "src"


def public(module: str) -> Any:
    """Import a module of the public package."""
    if not SOURCE.is_dir():
        raise FileNotFoundError(f"{SOURCE} is not there: run `make setup`")
    if str(SOURCE) not in sys.path:
        sys.path.append(str(SOURCE))
    return importlib.import_module(f"agentic_chaos_security.{module}")
