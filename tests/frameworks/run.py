#!/usr/bin/env python3
"""Sends every case of cases.json through weir to echo applications of real frameworks.

    tests/frameworks/run.py [NAME...]     express go php flask django spring lighttpd; all of them without a name

For each case the application answers with what it read for `user_id` (or for the member `email` of `user`, or for the header X-User-Id), in each common way of its
framework; a gray list of weir holds what weir counted. Whenever an application reads a value, weir counted that value or let nothing through. What
cannot be run here is skipped, with a word why. Exit 1 if anything disagrees.

WEIR_BINARY: the program. FRAMEWORKS_DIR: where `scripts/deps frameworks` put what the applications need.
"""
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from weir_process import Weir, free_port  # noqa: E402

BUILD = pathlib.Path(os.environ.get("FRAMEWORKS_DIR", HERE.parent.parent / "build" / "frameworks"))
START_SECONDS = 90

POLICIES = """
fields: {case: header.x_case}
events:
  in_body: {match: POST /body, fields: {user: body.user_id}}
  in_query: {match: POST /query, fields: {user: query.user_id}}
  in_nested: {match: POST /nested, fields: {user: body.user.email}}
  in_cookie: {match: POST /cookie, fields: {user: cookie.user_id}}
  in_header: {match: POST /header, fields: {user: header.x_user_id}}
lists:
  counted: {of: [case, user], kind: gray, effect: none}
policies:
  - name: counts
    watch: [in_body, in_nested, in_query, in_cookie, in_header]
    key: [case, user]
    window: 1h
    then:
      - {over: 0, do: graylist, list: counted, for: 1h}
      - {over: 1000, do: deny}
"""


def needs(*programs):
    missing = [name for name in programs if shutil.which(name) is None]
    return f"{', '.join(missing)} is not installed (scripts/deps frameworks)" if missing else None


def express(port):
    modules = BUILD / "express" / "node_modules"
    if not modules.is_dir():
        return None, "its modules are not installed (scripts/deps frameworks)"
    return ["env", f"NODE_PATH={modules}", "node", str(HERE / "express" / "echo.js"), str(port)], needs("node")


def go(port):
    if why := needs("go"):
        return None, why
    (BUILD / "go").mkdir(parents=True, exist_ok=True)
    built = subprocess.run(["go", "build", "-o", str(BUILD / "go" / "echo"), "."], cwd=HERE / "go", capture_output=True, text=True,
                           check=False)
    if built.returncode != 0:
        return None, f"go build: {built.stderr.strip()[:200]}"
    return [str(BUILD / "go" / "echo"), str(port)], None


def php(port):
    return ["php", "-d", "display_errors=0", "-S", f"127.0.0.1:{port}", str(HERE / "php" / "echo.php")], needs("php")


def python_app(name, module):
    def command(port):
        # Debian's own interpreter has Debian's packages.
        python = "/usr/bin/python3"
        known = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0
        why = None if known else f"{module} is not installed (scripts/deps frameworks)"
        return [python, "-B", str(HERE / name / "echo.py"), str(port)], why
    return command


def spring(port):
    jar = BUILD / "spring" / "echo.jar"
    why = needs("java") or (None if jar.exists() else "its jar is not built (scripts/deps frameworks)")
    return ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-jar", str(jar), f"--server.port={port}", "--server.address=127.0.0.1",
            "--spring.main.banner-mode=off", "--logging.level.root=ERROR"], why


def lighttpd(port):
    """A CGI script, which reads headers alone: the server makes the names of its variables."""
    program = shutil.which("lighttpd") or shutil.which("lighttpd", path="/usr/sbin")
    if program is None:
        return None, "lighttpd is not installed (scripts/deps frameworks)"
    (BUILD / "lighttpd").mkdir(parents=True, exist_ok=True)
    config = BUILD / "lighttpd" / "lighttpd.conf"
    config.write_text('server.modules = ("mod_rewrite", "mod_cgi")\n'
                      f'server.document-root = "{HERE / "lighttpd"}"\nserver.bind = "127.0.0.1"\nserver.port = {port}\n'
                      f'cgi.assign = (".py" => "{sys.executable}")\nurl.rewrite-once = (".*" => "/echo.py")\n', encoding="utf-8")
    return [program, "-D", "-f", str(config)], None


FRAMEWORKS = {"express": express, "go": go, "php": php, "flask": python_app("flask", "flask"),
              "django": python_app("django", "django"), "spring": spring, "lighttpd": lighttpd}


def request(port, case, number):
    """The status, and what the application read: texts by the way they were read."""
    body = case.get("body", "").encode("latin-1")
    query = "?" + case["query"] if case.get("query") else ""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest("POST", f"/{case['where']}{query}", skip_accept_encoding=True)
    connection.putheader("X-Case", str(number))
    types = case.get("type", [])
    for value in types if isinstance(types, list) else [types]:
        connection.putheader("Content-Type", value)
    if "cookie" in case:
        connection.putheader("Cookie", case["cookie"])
    for name, value in case.get("headers", []):
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    try:
        read = json.loads(text) if answer.status == 200 else {}
    except ValueError:
        read = {}
    return answer.status, read if isinstance(read, dict) else {}


def texts_of(value):
    """Every single value that the application holds, as a text would have it."""
    if isinstance(value, dict):
        return [text for member in value.values() for text in texts_of(member)]
    if isinstance(value, list):
        return [text for member in value for text in texts_of(member)]
    if value is None or value == "":
        return []
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [str(value)]


def counted_by(weir):
    """What weir counted, by the number of the case."""
    counted, after = {}, ""
    while True:
        status, page = weir.admin("GET", f"/v1/lists/counted?limit=1000{after}")
        assert status == 200, page
        for entry in page["entries"]:
            case, value = entry["key"]
            counted[int(case)] = value
        if not page.get("next"):
            return counted
        after = f"&after={page['next']}"


def wait_for(port, process):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("POST", "/query?user_id=up")
            if connection.getresponse().status == 200:
                return True
        except OSError:
            time.sleep(0.2)  # it is not up yet
    return False


def try_framework(name, cases):
    """What disagrees, one line each, or None if it was skipped."""
    port = free_port()
    command, why = FRAMEWORKS[name](port)
    if why:
        print(f"{name}: SKIPPED: {why}")
        return None
    (BUILD / "logs").mkdir(parents=True, exist_ok=True)
    with open(BUILD / "logs" / f"{name}.log", "wb") as log:
        app = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        if not wait_for(port, app):
            return [f"the application did not start; see {BUILD / 'logs'}"]
        return compare(name, cases, port)
    finally:
        app.terminate()
        app.wait(20)


def compare(name, cases, port):
    wrong, reached, read_by_app = [], 0, 0
    with Weir(POLICIES, port) as weir:
        seen = [request(weir.port, case, number) for number, case in enumerate(cases)]
        counted = counted_by(weir)
    for number, (case, (status, ways)) in enumerate(zip(cases, seen)):
        expected = case["weir"]
        refused = expected == "refused" or (isinstance(expected, dict) and "container" in expected)
        if refused != (status == 400 and number not in counted) and (refused or status == 400):
            # The framework itself may answer 400 to what weir lets through.
            if refused or number not in counted and expected != "absent":
                wrong.append(f"{case['name']}: weir answered {status}, the table says {expected}")
        if isinstance(expected, dict) and "value" in expected:
            value = expected["value"].encode("latin-1").decode("utf-8", "replace")
            if counted.get(number) != value:
                wrong.append(f"{case['name']}: weir counted {counted.get(number)!r}, the table says {value!r}")
        reached += not refused
        for way, value in ways.items():
            for text in texts_of(value):
                read_by_app += 1
                if number not in counted:
                    wrong.append(f"{case['name']}: {way} reads {text!r}, and weir counted nothing")
                elif counted[number] != text and not case.get("coarser"):
                    wrong.append(f"{case['name']}: {way} reads {text!r}, and weir counted {counted[number]!r}")
    # Without weir the applications do read the other value: else the table would show nothing.
    bare = sum(len(texts_of(list(request(port, case, 0)[1].values()))) > 0 for case in cases if case["weir"] == "refused")
    print(f"{name}: {len(cases)} cases, {read_by_app} readings of what weir let through; without weir it reads "
          f"{bare} of the refused cases; {len(wrong)} disagree")
    if read_by_app == 0:
        wrong.append("the application read nothing at all")
    return wrong


def main():
    names = sys.argv[1:] or list(FRAMEWORKS)
    unknown = [name for name in names if name not in FRAMEWORKS]
    if unknown:
        print(f"there is no framework {unknown[0]!r}: {' '.join(FRAMEWORKS)}", file=sys.stderr)
        return 2
    cases = json.loads((HERE / "cases.json").read_text(encoding="ascii"))
    failed = 0
    for name in names:
        for line in try_framework(name, cases) or []:
            print(f"{name}: {line}")
            failed += 1
    return 1 if failed else 0


sys.exit(main())
