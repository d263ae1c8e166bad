#!/usr/bin/env python3
"""sbom.py BINARY VERSION COMMIT: what weir's image holds, as CycloneDX 1.5: the program, the shared libraries that it is linked to, by
Debian package, and the header libraries that are compiled into it. The same inputs give the same bytes."""
import datetime
import json
import os
import re
import subprocess
import sys
import uuid

# Compiled in: no shared library tells of them.
HEADERS = ["libboost1.81-dev", "libcli11-dev", "libcctz-dev"]
DATA = ["tzdata", "ca-certificates"]


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def owner(path: str) -> str | None:
    for candidate in (path, os.path.realpath(path), re.sub(r"^/lib", "/usr/lib", path), re.sub(r"^/usr/lib", "/lib", os.path.realpath(path))):
        found = run("dpkg-query", "-S", candidate).split(": ")[0].strip()
        if found:
            return found.split(",")[0].split(":")[0]
    return None


def component(package: str, kind: str, scope: str) -> dict | None:
    fields = run("dpkg-query", "-W", "-f=${Version}\t${source:Package}\t${Architecture}\n", package).splitlines()
    if not fields:
        return None
    version, source, architecture = fields[0].split("\t")
    purl = f"pkg:deb/debian/{package}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}&distro=debian-12"
    return {"type": kind, "bom-ref": purl, "name": package, "version": version, "purl": purl, "scope": scope,
            "properties": [{"name": "debian:source", "value": source}]}


def main() -> None:
    binary, version, commit = sys.argv[1:]
    paths = sorted(set(re.findall(r"(/\S+) \(0x", run("ldd", binary))))
    packages = sorted({name for name in map(owner, paths) if name})
    parts = [component(name, "library", "required") for name in packages]
    parts += [component(name, "library", "required") for name in HEADERS]
    parts += [component(name, "data", "required") for name in DATA]
    parts = [part for part in parts if part]
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    ref = f"pkg:generic/weir@{version}"
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.5",
        "serialNumber": "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([version, commit, parts]))), "version": 1,
        "metadata": {"timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
                     "component": {"type": "application", "bom-ref": ref, "name": "weir", "version": version, "purl": ref,
                                   "licenses": [{"license": {"id": "Apache-2.0"}}],
                                   "properties": [{"name": "weir:commit", "value": commit}]}},
        "components": parts,
        "dependencies": [{"ref": ref, "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    print(json.dumps(document, indent=1))


main()
