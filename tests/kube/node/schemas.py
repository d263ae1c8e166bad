#!/usr/bin/env python3
"""schemas.py OUT <openapi.json: what an API server knows (`kubectl get --raw /openapi/v2`), as JSON schemas for kubeconform, one a kind. Strict: a
field that the server does not know is an error. Kinds of CRDs are among them if the server has these.

kubeconform -strict -schema-location 'OUT/{{ .ResourceKind }}{{ .KindSuffix }}.json' FILE"""
import json
import os
import sys

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


def main():
    definitions = json.load(sys.stdin)["definitions"]
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, definition in definitions.items():
        kinds = definition.get("x-kubernetes-group-version-kind", [])
        if len(kinds) != 1 or "properties" not in definition or kinds[0]["kind"].endswith("List"):
            continue
        group, version, kind = (kinds[0][part].lower() for part in ("group", "version", "kind"))
        file = "-".join(part for part in (kind, group.split(".")[0], version) if part) + ".json"
        with open(os.path.join(sys.argv[1], file), "w", encoding="utf-8") as f:
            json.dump(strict(definition, definitions, {name}), f)


main()
