"""Cut the served operations out of GitHub's OpenAPI description.

Usage: python -m tests.double.extract_openapi node_modules/@octokit/openapi/generated/api.github.com.json

The description is the npm package `@octokit/openapi`. The result, `openapi.json` beside this file, keeps parameters,
request and response schemas with every component they reach, and drops all prose.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.double.api import operations

OUTPUT = Path(__file__).with_name("openapi.json")
PROSE = {"description", "summary", "title", "example", "examples", "default", "discriminator", "deprecated"}
# Keys whose values map names to schemas, so that a property called "title" is not taken for prose.
NAMED = {"properties", "patternProperties"}


def without_prose(node: Any, *, names: bool = False) -> Any:
    """The node without descriptions, examples and vendor extensions."""
    if isinstance(node, list):
        return [without_prose(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: without_prose(value, names=not names and key in NAMED)
        for key, value in node.items()
        if names or (key not in PROSE and not key.startswith("x-"))
    }


def references(node: Any) -> set[str]:
    """Every `$ref` inside the node."""
    if isinstance(node, list):
        return set().union(*(references(item) for item in node))
    if not isinstance(node, dict):
        return set()
    found = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
    return found.union(*(references(value) for value in node.values()))


def look_up(document: Any, pointer: str) -> Any:
    """The node a local reference such as `#/components/schemas/commit` means."""
    for part in pointer.removeprefix("#/").split("/"):
        document = document[part.replace("~1", "/").replace("~0", "~")]
    return document


def cut_content(node: dict[str, Any]) -> dict[str, Any]:
    """Only the schema of each media type."""
    return {media: {"schema": without_prose(value.get("schema", {}))} for media, value in node.items()}


def cut_operation(operation: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """Parameters, body and responses of one operation, parameters and responses without indirection."""

    def direct(node: dict[str, Any]) -> dict[str, Any]:
        return look_up(source, node["$ref"]) if "$ref" in node else node

    kept: dict[str, Any] = {
        "operationId": operation["operationId"],
        "externalDocs": {"url": operation["externalDocs"]["url"]},
        "parameters": [
            {
                key: without_prose(value)
                for key, value in direct(each).items()
                if key in {"name", "in", "required", "schema"}
            }
            for each in operation.get("parameters", [])
        ],
        "responses": {
            status: {"content": cut_content(direct(response).get("content", {}))}
            for status, response in operation["responses"].items()
        },
    }
    if "requestBody" in operation:
        body = direct(operation["requestBody"])
        kept["requestBody"] = {"required": body.get("required", False), "content": cut_content(body["content"])}
    return kept


def cut(source: dict[str, Any]) -> dict[str, Any]:
    """The small description: served operations and what they refer to, also indirectly."""
    paths: dict[str, Any] = {}
    for served in operations():
        operation = source["paths"][served.template][served.method.lower()]
        paths.setdefault(served.template, {})[served.method.lower()] = cut_operation(operation, source)
    components: dict[str, Any] = {}
    waiting = references(paths)
    while waiting:
        pointer = waiting.pop()
        _, _, kind, name = pointer.split("/")
        if name not in components.setdefault(kind, {}):
            components[kind][name] = without_prose(look_up(source, pointer))
            waiting |= references(components[kind][name])
    version = source["info"]["version"]
    return {
        "openapi": source["openapi"],
        "info": {"title": "GitHub REST API", "version": version},
        "paths": paths,
        "components": components,
    }


def main(path: str) -> None:
    source = json.loads(Path(path).read_text(encoding="utf-8"))
    text = json.dumps(cut(source), sort_keys=True, separators=(",", ":"))
    OUTPUT.write_text(text + "\n", encoding="utf-8")
    print(f"{OUTPUT}: {len(text):,} bytes, {len(operations())} operations")


if __name__ == "__main__":
    main(sys.argv[1])
