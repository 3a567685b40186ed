"""One way only: which module may import which, and what a cheap command must not load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

GATE = Path(__file__).parents[2] / "gate"

LAYERS = [
    {"__main__"},
    {"cli"},
    {"baseline"},
    {"command", "demo", "pipeline"},
    {"rerun"},
    {"publish", "suite"},
    {"room"},
    {"engine", "readers", "store", "render", "schema"},
    {"github", "commit"},
    {"config", "event"},
    {"plan"},
    {"anchor", "compare", "merge", "stopping"},
    {"history"},
    {"confirm"},
    {"bars"},
    {"rows"},
    {"findings"},
    {"judge", "sharing", "completion"},
    {"counting"},
    {"experiment", "comparison", "confirmation"},
    {"probes", "faults", "report", "format"},
    {"prices"},
    {"trace", "stats", "policy", "document", "jsontext", "resources"},
    {"registry"},
    {"errors"},
    {"__init__"},
]
"""From the top: a module imports only from layers below its own; siblings never import one another."""


def imports(path: Path) -> set[str]:
    """Return the modules of gate that a file imports, at any place in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "gate" else [f"gate.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        for name in names:
            if name.startswith("gate."):
                part = name.split(".")[1]
                found.add("__init__" if part == "__version__" else part)
    return found


def level(module: str) -> int:
    return next(i for i, layer in enumerate(LAYERS) if module in layer)


def files() -> list[Path]:
    return sorted(p for p in GATE.rglob("*.py") if "chaos" not in p.relative_to(GATE).parts[:1])


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(GATE)))
def test_imports__go_down_only(path: Path) -> None:
    own = path.relative_to(GATE).parts[0].removesuffix(".py")
    for other in imports(path) - {own, "chaos"}:
        assert level(own) < level(other), f"{own} imports {other}"


def test_chaos__imports_the_standard_library_only() -> None:
    allowed = set(sys.stdlib_module_names) | {"gate", "agentic_chaos_security"}
    for path in (GATE / "chaos").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                assert node.module.split(".")[0] in allowed, f"{path}: {node.module}"
            elif isinstance(node, ast.Import):
                assert {a.name.split(".")[0] for a in node.names} <= allowed, path
        assert not imports(path) - {"chaos"}, path


def test_environment__is_read_in_one_place() -> None:
    readers = {p.relative_to(GATE).as_posix() for p in files() if "os.environ" in p.read_text(encoding="utf-8")}
    assert readers == {"config.py"}


def test_broad_handlers__stand_at_the_borders_only() -> None:
    """Where a plug-in or the agent is called, and at the top of the command line; elsewhere only to raise again."""
    found = set()
    for path in GATE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ExceptHandler) or isinstance(node.body[-1], ast.Raise):
                continue
            caught = ast.unparse(node.type) if node.type else "BaseException"
            if caught in ("Exception", "BaseException"):
                found.add(path.relative_to(GATE).as_posix())
    agent, plug_ins = {"chaos/hook.py", "chaos/serve.py", "chaos/target.py"}, {"engine/live.py", "engine/verdict.py"}
    assert found == {"cli.py"} | agent | plug_ins


@pytest.mark.parametrize("arguments", [["--help"], ["validate", "--help"], ["list", "faults"]], ids=" ".join)
def test_start__loads_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom gate.cli import cli\n"
        f"try: cli({arguments!r})\nexcept SystemExit: pass\n"
        "print([m for m in ('scipy', 'numpy', 'jinja2', 'github', 'requests') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_modules__fit_their_size() -> None:
    long = {p.name: n for p in GATE.rglob("*.py") if (n := len(p.read_text(encoding="utf-8").splitlines())) > 350}
    assert not long
