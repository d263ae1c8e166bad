"""Answers with what each common way of Flask to read `user_id` reads."""
import sys

from flask import Flask, jsonify, request

app = Flask(__name__)


def present(**values):
    return jsonify({way: value for way, value in values.items() if value is not None})


@app.post("/body")
def body():
    request.get_data(cache=True, parse_form_data=False)
    as_type, forced = request.get_json(silent=True), request.get_json(silent=True, force=True)
    member = lambda value: value.get("user_id") if isinstance(value, dict) else None
    return present(json=member(as_type), forced=member(forced), form=request.form.get("user_id"),
                   values=request.values.get("user_id"))


@app.post("/nested")
def nested():
    request.get_data(cache=True, parse_form_data=False)
    whole = request.get_json(silent=True)
    user = whole.get("user") if isinstance(whole, dict) else None
    return present(json=user.get("email") if isinstance(user, dict) else None, form=request.form.get("user[email]"),
                   values=request.values.get("user[email]"), point=request.values.get("user.email"))


@app.post("/query")
def query():
    return present(query=request.args.get("user_id"))


@app.post("/cookie")
def cookie():
    return present(cookie=request.cookies.get("user_id"))


@app.post("/header")
def header():
    return present(header=request.headers.get("X-User-Id"), environ=request.environ.get("HTTP_X_USER_ID"))


app.run("127.0.0.1", int(sys.argv[1]), threaded=True)
