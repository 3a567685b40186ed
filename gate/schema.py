"""JSON Schemas of the files that people and programs write, for editors and for checks elsewhere."""

import json
from collections.abc import Callable
from typing import Any

from pydantic.json_schema import models_json_schema

from gate.comparison import Comparison
from gate.config import Config
from gate.faults import FAULTS
from gate.format import FaultItem, File, OwnFile, OwnProbeItem, ProbeItem
from gate.policy import Model
from gate.probes import PROBES
from gate.registry import Registry
from gate.report import Report
from gate.trace import POINTS

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/{model}"


def experiment_schema() -> dict[str, Any]:
    """Return the schema of an experiment file of any version, with the parameters of every fault and probe."""
    models = (File, OwnFile, FaultItem, ProbeItem, OwnProbeItem)
    _, schema = models_json_schema([(model, "validation") for model in models], ref_template=_REFERENCE)
    definitions = schema["$defs"]
    fault, probe, own_probe = (definitions[name] for name in ("FaultItem", "ProbeItem", "OwnProbeItem"))
    point = {"enum": list(POINTS)}
    fault["properties"]["point"] = {"anyOf": [point, {"type": "array", "items": point}, {"type": "null"}]}
    for item, registry in ((fault, FAULTS), (probe, PROBES), (own_probe, PROBES)):
        _add_plugins(item, registry, definitions)
    for name, item in (("Spec", "ProbeItem"), ("OwnSpec", "OwnProbeItem")):
        properties = definitions[name]["properties"]
        properties["faults"]["items"] = _refer("FaultItem")
        for key in ("probes", "detection"):
            array = next(a for a in properties[key]["anyOf"] if a.get("type") == "array")
            array["items"] = _refer(item)
        definitions[name]["anyOf"] = [
            {"required": [key], "properties": {key: {"type": "array", "minItems": 1}}}
            for key in ("probes", "detection")
        ]
    own = {"if": {"properties": {"apiVersion": {"const": "agent-chaos-gate/v1"}}, "required": ["apiVersion"]}}
    choice = {**own, "then": _refer("OwnFile"), "else": _refer("File")}
    return {"$schema": DRAFT, "title": "Experiment", "type": "object", **choice, "$defs": definitions}


def _add_plugins(item: dict[str, Any], registry: Registry[Any], definitions: dict[str, Any]) -> None:
    """Say which types there are, and for each of them which parameters."""
    item["properties"]["type"] = {"enum": list(registry)}
    item["allOf"] = []
    for type_ in registry:
        params = registry[type_].model_json_schema(ref_template=_REFERENCE)
        definitions.update(params.pop("$defs", {}))
        needs = ["params"] if params.get("required") else []
        nothing = [] if needs else [{"type": "null"}]
        then = {"properties": {"params": {"anyOf": [params, *nothing]}}, "required": needs}
        item["allOf"].append({"if": {"properties": {"type": {"const": type_}}}, "then": then})


def _refer(name: str) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=name)}


def _schema_of(model: type[Model]) -> Callable[[], dict[str, Any]]:
    return lambda: {"$schema": DRAFT, **model.model_json_schema()}


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "experiment": experiment_schema,
    "config": _schema_of(Config),
    "report": _schema_of(Report),
    "comparison": _schema_of(Comparison),
}
"""Name, as the command `schema` takes it, to what makes the schema."""


def schema_text(name: str) -> str:
    """Return one of the schemas as text."""
    return json.dumps(SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n"
