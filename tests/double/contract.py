"""Checks requests and answers against GitHub's own OpenAPI description."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry
from referencing.jsonschema import DRAFT202012

DESCRIPTION = Path(__file__).with_name("openapi.json")
_ROOT = "urn:github"
_MAX_PROBLEMS = 5


@dataclass(frozen=True)
class Exemption:
    """A place where GitHub's description is wrong about GitHub, mended before anything is checked."""

    pointer: str
    patch: dict[str, Any]
    reason: str


EXEMPTIONS = (
    Exemption(
        "/components/schemas/pull-request/properties/head/properties/repo",
        {"nullable": True},
        "null after the fork was deleted",
    ),
    Exemption(
        "/components/schemas/pull-request-simple/properties/head/properties/repo",
        {"nullable": True},
        "null after the fork was deleted",
    ),
    Exemption(
        "/components/schemas/pull-request/properties/head/properties/user",
        {"nullable": True},
        "null after the fork's account was deleted; the list form says so, the single form does not",
    ),
    Exemption(
        "/components/schemas/full-repository/properties/homepage",
        {"format": None},
        "GitHub sends an empty or free text homepage where an address was promised",
    ),
)

# Query parameters clients may send although the operation does not list them.
EXTRA_QUERY = {
    "GET /repos/{owner}/{repo}/git/matching-refs/{ref}": {
        "per_page": "GitHub ignores it; PyGithub sends it with every list",
        "page": "GitHub ignores it; PyGithub sends it with every list",
    },
}

# Statuses any operation can answer, though the description lists them for few.
GENERAL_ERRORS = {
    400: "malformed JSON",
    401: "a bad or missing token",
    403: "permissions and rate limits",
    404: "no such object, or not for this token",
    409: "an empty repository",
    410: "an artifact that has expired, which has no body in the description",
    422: "validation; several operations describe only their success",
    429: "rate limits",
}


@functools.cache
def _formats() -> FormatChecker:
    checker = FormatChecker(formats=())

    @checker.checks("date-time", raises=ValueError)
    def _date_time(value: object) -> bool:
        return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None

    @checker.checks("uri", raises=ValueError)
    def _uri(value: object) -> bool:
        return not isinstance(value, str) or bool(urlsplit(value).scheme)

    return checker


def to_json_schema(node: Any) -> Any:
    """OpenAPI 3.0's `nullable` in the words of JSON Schema."""
    if isinstance(node, list):
        return [to_json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    schema = {key: to_json_schema(value) for key, value in node.items() if key != "nullable" or isinstance(value, dict)}
    if node.get("nullable") is True:
        return {"anyOf": [{"type": "null"}, schema]}
    return schema


def closed(schema: Any) -> Any:
    """The schema with unknown properties refused, so that a misspelt field is seen. Alternatives stay open."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {
        key: value if key in {"oneOf", "anyOf", "allOf", "enum", "required"} else closed(value)
        for key, value in schema.items()
    }
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        result.setdefault("additionalProperties", False)
    return result


def _mend(document: Any) -> None:
    for exemption in EXEMPTIONS:
        node = document
        for part in exemption.pointer.strip("/").split("/"):
            node = node[part]
        if "$ref" in node:  # siblings of a reference would be ignored
            node["allOf"] = [{"$ref": node.pop("$ref")}]
        node.update(exemption.patch)
        for key in [key for key, value in exemption.patch.items() if value is None]:
            del node[key]


@functools.cache
def contract() -> Contract:
    """GitHub's description as it is stored here, read once."""
    return Contract()


class Contract:
    """GitHub's description of the served operations, ready to judge."""

    def __init__(self, path: Path = DESCRIPTION) -> None:
        document = json.loads(path.read_text(encoding="utf-8"))
        _mend(document)
        for item in document["paths"].values():
            for operation in item.values():
                for media in operation.get("requestBody", {}).get("content", {}).values():
                    media["schema"] = closed(media["schema"])
        self._document = to_json_schema(document)
        resource = DRAFT202012.create_resource(self._document)
        registry: Registry[Any] = Registry()
        self._registry = registry.with_resource(_ROOT, resource)
        self._validators: dict[str, Draft202012Validator] = {}

    def operation(self, key: str) -> dict[str, Any]:
        """The description of an operation such as `GET /user`."""
        method, template = key.split(" ", 1)
        found: dict[str, Any] = self._document["paths"][template][method.lower()]
        return found

    def documentation_url(self, key: str) -> str:
        return str(self.operation(key)["externalDocs"]["url"])

    def request(self, key: str, path: dict[str, str], query: dict[str, str], body: Any, media: str) -> list[str]:
        """What is wrong with a request, in words; empty when nothing is."""
        operation = self.operation(key)
        problems = list(self._parameters(key, operation, path, query))
        described = operation.get("requestBody")
        if described is None:
            return [*problems, "a body where none is described"] if body is not None else problems
        if body is None:
            return [*problems, "no body"] if described["required"] else problems
        if not media.startswith("application/json"):
            problems.append(f"content type {media or 'missing'}, not application/json")
        pointer = f"{self._pointer(key)}/requestBody/content/application~1json/schema"
        return [*problems, *(f"body {problem}" for problem in self._problems(pointer, body))]

    def _parameters(
        self, key: str, operation: dict[str, Any], path: dict[str, str], query: dict[str, str]
    ) -> Iterable[str]:
        given = {"path": path, "query": query}
        known = set(EXTRA_QUERY.get(key, {}))
        for index, parameter in enumerate(operation["parameters"]):
            where, name = parameter["in"], parameter["name"]
            known |= {name} if where == "query" else set()
            if name not in given.get(where, {}):
                if parameter.get("required") and where in given:
                    yield f"{where} parameter {name} is missing"
                continue
            value = _coerced(given[where][name], parameter["schema"])
            pointer = f"{self._pointer(key)}/parameters/{index}/schema"
            yield from (f"{where} parameter {name} {problem}" for problem in self._problems(pointer, value))
        yield from (f"query parameter {name} is not described" for name in sorted(set(query) - known))

    def response(self, key: str, status: int, body: Any, media: str) -> list[str]:
        """What is wrong with an answer, in words; empty when nothing is."""
        responses = self.operation(key)["responses"]
        if status >= 500:
            return []
        if str(status) not in responses or (not responses[str(status)]["content"] and body is not None):
            if status in GENERAL_ERRORS:
                return self._problems("/components/schemas/basic-error", body)
            return [f"status {status} is not described"]
        content = responses[str(status)]["content"]
        if media.startswith("application/vnd.github.") and media.split(";")[0] not in content:
            return []  # raw media types are described in prose only
        if not content:
            return []
        names = {name.replace("/", "~1") for name in content if name.startswith("application/")}
        failures = [
            self._problems(f"{self._pointer(key)}/responses/{status}/content/{name}/schema", body)
            for name in sorted(names)
        ]
        return min(failures, key=len)

    def component(self, name: str, value: Any) -> list[str]:
        """What is wrong with a document that should be `#/components/schemas/<name>`."""
        return self._problems(f"/components/schemas/{name}", value)

    def _pointer(self, key: str) -> str:
        method, template = key.split(" ", 1)
        return f"/paths/{template.replace('/', '~1')}/{method.lower()}"

    def _problems(self, pointer: str, value: Any) -> list[str]:
        if pointer not in self._validators:
            escaped = pointer.replace("{", "%7B").replace("}", "%7D")
            self._validators[pointer] = Draft202012Validator(
                {"$ref": f"{_ROOT}#{escaped}"}, registry=self._registry, format_checker=_formats()
            )
        errors = []
        for error in self._validators[pointer].iter_errors(value):
            # The innermost causes of a failed alternative say more than the alternative.
            causes = error.context or [error]
            errors += [f"{cause.json_path}: {cause.message[:200]}" for cause in causes if not _about_null(cause)]
            if len(errors) >= _MAX_PROBLEMS:
                break
        return errors[:_MAX_PROBLEMS]


def _about_null(error: Any) -> bool:
    return bool(error.validator == "type" and error.validator_value == "null")


def _coerced(text: str, schema: dict[str, Any]) -> Any:
    """A parameter as the type its schema names, or as the text it came as."""
    kind = schema.get("type")
    if kind == "integer" and re.fullmatch(r"-?\d+", text):
        return int(text)
    if kind == "boolean" and text in {"true", "false"}:
        return text == "true"
    return text
