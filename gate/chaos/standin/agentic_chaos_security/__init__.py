"""Found through PYTHONPATH by interpreters that an agent starts: gives way to any other package of this name."""

import importlib
import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (pathlib is slow to import)
_WORKER = os.path.join(os.path.dirname(_FOLDER), "worker.py")  # noqa: PTH118, PTH120

if __name__ in sys.modules:
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _FOLDER]  # noqa: PTH100
    del sys.modules[__name__]
    _spec = importlib.util.spec_from_file_location("_chaos_gate_worker", _WORKER)
    if _spec is not None and _spec.loader is not None:
        _spec.loader.exec_module(importlib.util.module_from_spec(_spec))  # appends the last of all finders
    importlib.import_module(__name__)  # whoever has it now takes this module's place
