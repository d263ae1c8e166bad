#!/usr/bin/env python3
"""schemas.py OUT [CRD.yaml...] <openapi.json: what an API server knows (`kubectl get --raw /openapi/v2`), as JSON schemas for kubeconform, one a
kind. Strict: a field that the server does not know is an error. Kinds of CRDs are among them if the server has these, or by their files.

kubeconform -strict -schema-location 'OUT/{{ .ResourceKind }}{{ .KindSuffix }}.json' FILE"""
import json
import os
import sys

import yaml

ANYTHING = {"IntOrString": {"type": ["string", "integer"]}, "Quantity": {"type": ["string", "number"]}}


def named(reference):
    return reference.rsplit("/", 1)[1]


def strict(part, definitions, above):
    """The part with its references put in, and no members but those that it names."""
    if isinstance(part, list):
        return [strict(each, definitions, above) for each in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        name = named(part["$ref"])
        if name.rsplit(".", 1)[1] in ANYTHING:
            return ANYTHING[name.rsplit(".", 1)[1]]
        return {} if name in above else strict(definitions[name], definitions, above | {name})
    if part.get("x-kubernetes-int-or-string"):
        return {"type": ["string", "integer"]}
    out = {key: strict(value, definitions, above) if key != "properties" else
           {name: strict(each, definitions, above) for name, each in value.items()}
           for key, value in part.items() if key not in ("description", "format", "default") and not key.startswith("x-")}
    if "properties" in out and not part.get("x-kubernetes-preserve-unknown-fields"):
        out.setdefault("additionalProperties", False)
    return out


def write(folder, group, version, kind, schema):
    file = "-".join(part for part in (kind.lower(), group.lower().split(".")[0], version.lower()) if part) + ".json"
    with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
        json.dump(schema, f)


def write_custom(folder, path):
    """The kinds of a file with CRDs."""
    with open(path, encoding="utf-8") as f:
        definitions = [d["spec"] for d in yaml.safe_load_all(f) if d and d["kind"] == "CustomResourceDefinition"]
    for definition in definitions:
        for version in definition["versions"]:
            schema = strict(version["schema"]["openAPIV3Schema"], {}, set())
            schema["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
            write(folder, definition["group"], version["name"], definition["names"]["kind"], schema)


def main():
    definitions = json.load(sys.stdin)["definitions"]
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, definition in definitions.items():
        kinds = definition.get("x-kubernetes-group-version-kind", [])
        if len(kinds) != 1 or "properties" not in definition or kinds[0]["kind"].endswith("List"):
            continue
        write(folder, kinds[0]["group"], kinds[0]["version"], kinds[0]["kind"], strict(definition, definitions, {name}))
    for path in sys.argv[2:]:
        write_custom(folder, path)


main()
