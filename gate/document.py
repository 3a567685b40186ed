"""YAML text to plain values, safely, with the line of every key."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from gate.errors import InvalidFileError
from gate.registry import suggest

Path = tuple[str | int, ...]

MAX_BYTES = 256_000
MAX_NODES = 20_000
MAX_DEPTH = 40


@dataclass(frozen=True)
class Document:
    """The values of one YAML file, and where each key stands (`lines`, counted from 1)."""

    source: str
    data: Any
    lines: dict[Path, int]

    def problem(self, path: Path, message: str) -> str:
        """Return `file:line: key.path: message` for the nearest key that exists."""
        known = path
        while known and known not in self.lines:
            known = known[:-1]
        line = self.lines.get(known, 1)
        return f"{self.source}:{line}: {spell(path)}: {message}" if path else f"{self.source}:{line}: {message}"


def spell(path: Path) -> str:
    """Write a key path as `spec.faults[0].type`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def read_document(text: str, source: str) -> Document:
    """Parse one YAML document with the safe loader.

    Raises:
        InvalidFileError: not YAML, more than 256 kB, nested too deep, too many values after aliases are expanded, a
            key given twice, or a key that is not text.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise InvalidFileError([f"{source}: larger than {MAX_BYTES // 1000} kB"], fix="split the file")
    try:
        # CSafeLoader would be faster; the pure one reports the same marks on every platform and the files are small.
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return Document(source, None, {})
        walk = _Walk(source)
        walk.visit(node, (), 0)
        if walk.problems:
            raise InvalidFileError(walk.problems)
        return Document(source, loader.construct_document(node), walk.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        raise InvalidFileError([f"{where}: not valid YAML: {error.problem or error.context}"]) from None
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidFileError([f"{source}: not valid YAML: {reason}"]) from None


class _Walk:
    """Collect lines and problems of a node tree, following aliases as the constructor will."""

    def __init__(self, source: str) -> None:
        self.source, self.count = source, 0
        self.lines: dict[Path, int] = {}
        self.problems: list[str] = []

    def visit(self, node: yaml.Node, path: Path, depth: int) -> None:
        self.count += 1
        line = node.start_mark.line + 1
        if self.count > MAX_NODES or depth > MAX_DEPTH:
            what = f"more than {MAX_NODES} values" if self.count > MAX_NODES else f"more than {MAX_DEPTH} levels"
            raise InvalidFileError([f"{self.source}:{line}: {what}, aliases expanded"], fix="write the values out")
        self.lines.setdefault(path, line)
        if (
            isinstance(node, yaml.ScalarNode)
            and not node.value.isascii()
            and any("\ud800" <= c <= "\udfff" for c in node.value)
        ):
            self.problems.append(f"{self.source}:{line}: {spell(path)}: not valid text: half of a surrogate pair")
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.visit(item, (*path, index), depth + 1)
        elif isinstance(node, yaml.MappingNode):
            seen: dict[str, int] = {}
            for key, item in node.value:
                here = key.start_mark.line + 1
                if not isinstance(key, yaml.ScalarNode):
                    self.problems.append(f"{self.source}:{here}: a key must be text")
                    continue
                if key.value in seen:
                    place = spell((*path, key.value))
                    self.problems.append(
                        f"{self.source}:{here}: {place}: key given twice (first in line {seen[key.value]})"
                    )
                seen.setdefault(key.value, here)
                self.lines[(*path, key.value)] = here
                self.visit(item, (*path, key.value), depth + 1)


def explain(error: ValidationError, model: type[BaseModel], report: Callable[[Path, str], None]) -> None:
    """Pass every problem of a failed validation on as (key path, sentence), with a did-you-mean for unknown keys."""
    for item in error.errors(include_url=False):
        path: Path = tuple(item["loc"])
        if item["type"] == "extra_forbidden":
            known = _fields_at(model, path[:-1])
            hint = suggest(str(path[-1]), known) or (f" (known: {', '.join(sorted(known))})" if known else "")
            report(path, f"unknown key{hint}")
        elif item["type"] == "missing":
            report(path[:-1], f"missing required key {path[-1]!r}")
        else:
            given = item.get("input")
            shown = f", got {type(given).__name__} {given!r:.60}" if not isinstance(given, dict | list) else ""
            message = item["msg"].removeprefix("Value error, ")
            report(path, message[:1].lower() + message[1:] + shown)


def _fields_at(model: type[BaseModel], path: Path) -> list[str]:
    """Return the keys that a (nested) model allows; none where the path leaves the models."""
    for part in path:
        if isinstance(part, int):
            continue
        field = next((f for n, f in model.model_fields.items() if part in (n, f.alias)), None)
        if field is None:
            return []
        inner = _model_in(field.annotation)
        if inner is None:
            return []
        model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the first pydantic model inside an annotation such as `list[Model] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        if (inner := _model_in(argument)) is not None:
            return inner
    return None
