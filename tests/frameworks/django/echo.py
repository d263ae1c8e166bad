"""Answers with what each common way of Django to read `user_id` reads."""
import json
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.urls import path

settings.configure(DEBUG=False, ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="echo")


def present(values):
    return JsonResponse({way: value for way, value in values.items() if value is not None})


def body(request):
    out = {}
    raw = request.body
    try:
        whole = json.loads(raw)
        out["json"] = whole.get("user_id") if isinstance(whole, dict) else None
    except ValueError:
        pass
    out["post"] = request.POST.get("user_id")
    return present(out)


def nested(request):
    out = {}
    raw = request.body
    try:
        user = json.loads(raw)["user"]
        out["json"] = user.get("email") if isinstance(user, dict) else None
    except (ValueError, KeyError, TypeError):
        pass
    out["post"] = request.POST.get("user[email]")
    out["get"] = request.GET.get("user[email]")
    return present(out)


def query(request):
    return present({"query": request.GET.get("user_id")})


def cookie(request):
    return present({"cookie": request.COOKIES.get("user_id")})


def header(request):
    return present({"headers": request.headers.get("X-User-Id"), "meta": request.META.get("HTTP_X_USER_ID")})


urlpatterns = [path("body", body), path("nested", nested), path("query", query), path("cookie", cookie), path("header", header)]


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


make_server("127.0.0.1", int(sys.argv[1]), get_wsgi_application(), handler_class=Quiet).serve_forever()
