"""docs/reference.md: every point, fault and probe, from the classes themselves."""

import inspect
import json
from collections.abc import Iterator
from typing import Any

from gate.faults import FAULTS
from gate.faults.payloads import PAYLOADS
from gate.policy import SEVERITY_OF, Model
from gate.probes import PROBES
from gate.trace import POINT_TEXTS

_HEAD = """\
# Reference

Points, faults and probes that an experiment file can name. `agent-chaos-gate list points|faults|probes` prints the
same; this page is made from the classes and checked by a test.
"""


def render_reference() -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield "## Points\n"
    yield "| point | what it is | faults that act there unless told otherwise |"
    yield "| --- | --- | --- |"
    for point, text in POINT_TEXTS.items():
        acting = [f"`{type_}`" for type_ in FAULTS if point in FAULTS[type_].points]
        yield f"| `{point}` | {text} | {', '.join(acting) or '–'} |"
    yield "\n## Faults\n"
    yield "Every fault also takes `target`, `point`, `probability`, `after_calls` and `max_injections`.\n"
    for type_ in FAULTS:
        points = ", ".join(f"`{point}`" for point in FAULTS[type_].points)
        yield from _plugin(FAULTS[type_], type_, f"Acts at {points}.")
    yield f"A `payload` is a text of your own, with `{{canary}}` and `{{sink}}` in it, or one of: {_names(PAYLOADS)}.\n"
    yield "## Probes\n"
    for type_ in PROBES:
        category = PROBES[type_].category
        yield from _plugin(
            PROBES[type_], type_, f"Category {category}, severity {SEVERITY_OF[category]} unless stated."
        )


def _plugin(plugin: type[Model], type_: str, about: str) -> Iterator[str]:
    yield f"### {type_}\n"
    yield inspect.cleandoc(plugin.__doc__ or "")
    yield f"\n{about}\n"
    schema = plugin.model_json_schema()
    if not schema["properties"]:
        return
    yield "| parameter | value | default |"
    yield "| --- | --- | --- |"
    for name, field in schema["properties"].items():
        default = "required" if name in schema.get("required", ()) else f"`{json.dumps(field.get('default'))}`"
        yield f"| `{name}` | {_kind(field, schema)} | {default} |"
    yield ""


def _kind(field: dict[str, Any], schema: dict[str, Any]) -> str:
    """Return in words which values a JSON Schema allows."""
    if "$ref" in field:
        inner = schema["$defs"][field["$ref"].rpartition("/")[2]]
        return f"mapping of {_names(inner['properties'])}"
    if "anyOf" in field:
        return " or ".join(_kind(one, schema) for one in field["anyOf"])
    if "enum" in field or "const" in field:
        return " or ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    kind = field.get("type", "any value")
    if kind == "array":
        return f"list of {_kind(field.get('items', {}), schema)}"
    if kind == "object":
        values = field.get("additionalProperties")
        return f"mapping to {_kind(values, schema)}" if isinstance(values, dict) else "mapping"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false", "null": "nothing"}.get(kind, kind)
    limits = [f"{sign} {field[key]:g}" for key, sign in _LIMITS.items() if key in field]
    return f"{words} {', '.join(limits)}" if limits else str(words)


_LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def _names(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)
