#include "tests/config/golden_problems.h"

namespace weir::config::problems_test {
namespace {

using namespace golden_problems;

TEST(Problems, the_example_of_the_issue_reads_as_promised) {
  const Loaded loaded =
      load_texts({{"weir.yaml", "weir: 1\nevents: {login_failed: {match: POST /login}}\n"},
                  {"policies/login.yaml", R"(# per-IP login tries
#
#
#
#
#
#
#
#
policies:
  - name: login-per-ip
    watch: login_failed
    key: ip
    windw: 10m
    then:
      - {over: 5,  do: flag}
      - {over: 10, do: graylist}
)"}});
  EXPECT_EQ(shown(loaded), R"(policies/login.yaml:14:5: error: unknown key "windw" in a policy
 14 |     windw: 10m
    |     ^~~~~ did you mean "window"?
policies/login.yaml:17:20: error: "graylist" needs "for", a duration such as 15m
 17 |       - {over: 10, do: graylist}
    |                    ^~
2 errors in 1 file
)");
  EXPECT_FALSE(loaded.model);
}

TEST(Problems, of_yaml_itself) {
  expect_golden(
      "yaml.txt",
      {
          {"duplicate key", "fields: {a: ip}\nfields: {b: ip}\n"},
          {"merge key", "x: &x {a: b}\nfields: {<<: *x}\n"},
          {"two documents", "---\nfields: {}\n---\nfields: {}\n"},
          {"unclosed flow map", "fields: {a: b\nevents: {}\n"},
          {"unclosed flow list", "include: [a.yaml\nevents: {}\n"},
          {"closing bracket too many", "fields: {a: b}}\n"},
          {"tab in the indentation", "fields:\n\ta: b\n"},
          {"wrong indentation", "fields:\n  a: b\n c: d\n"},
          {"key under a text", "fields: x\n  a: b\n"},
          {"colon in a plain text", "fields:\n  a: status == 200 ? 'a' : 'b'\n"},
          {"text after a closing quote", "fields:\n  a: \"x\" == y\n"},
          {"unclosed quote", "fields:\n  a: 'x\n"},
          {"unknown escape", "fields:\n  a: \"\\d+\"\n"},
          {"backquote", "fields:\n  a: `x`\n"},
          {"a question mark in flow", "events: {e: {match: GET /a?b=1}}\n"},
          {"a tag", "fields:\n  a: !has(body.x)\n"},
          {"a bare star in flow", "events: {e: {match: * /a}}\n"},
          {"a bare star as key", "tables: {t: {by: os, values: {*: 5}}}\n"},
          {"alias without anchor", "include: [*.yaml]\n"},
          {"alias in itself", "fields: &a {x: *a}\n"},
          {"distinct torn in a flow map",
           "policies: [{name: p, watch: request, metric: distinct(a, b), window: 1m, then: [{over: "
           "1, do: flag}]}]\n"},
          {"list in an expression in a flow map",
           "events: {e: {is: request, when: status in [401, 403]}}\n"},
          {"exclamation mark in a flow map", "events: {e: {is: request, when: !has(body.x)}}\n"},
          {"masks torn in a flow list",
           "policies: [{name: p, watch: request, key: [user, ip/24,56], window: 1m, then: [{over: "
           "1, do: flag}]}]\n"},
          {"masks torn in a flow map",
           "policies: [{name: p, watch: request, key: ip/24,56, window: 1m, then: [{over: 1, do: "
           "flag}]}]\n"},
          {"IPv6 endpoint without quotes", "health: {listen: [::]:8480}\n"},
          {"bare booleans",
           "admin: {token_file: Yes}\nlists: {l: {of: ip, kind: deny, trusted: on}}\nfields: {no: "
           "ip}\n"},
          {"leading zeros", "limits: {keys: 010}\nfields: {a: 007}\n"},
          {"a key that is a list", "fields: {[a]: b}\n"},
          {"control character", "fields: {a: \x01}\n"},
          {"not UTF-8", "fields: {a: \xff}\n"},
          {"overlong UTF-8", "fields: {a: \xc0\x80}\n"},
          {"turned text", "fields: {a: \xe2\x80\xae x}\n"},
          {"a bare carriage return", "fields: {a: b}\rx: y\n"},
          {"a list at the top", "- a\n"},
      });
}

TEST(Problems, of_the_file) {
  expect_golden("file.txt",
                {
                    {"unknown section", "policy: []\n"},
                    {"unknown section, far from all", "zzzzzz: []\n"},
                    {"wrong shapes",
                     "fields: 5\nevents: []\nlists: x\ntables: [a]\npolicies: {a: b}\nnotify: 1\n"},
                    {"later words", "clock: event\n"},
                    {"redis",
                     "redis: {url: \"redis://ann:secret@h:0\", sentinel: {nodes: [a, 'b c']}, "
                     "cluster: [\"x:y\"],\n  tls: {cert: a}, keys: plain, budget: 1s}\n"},
                    {"redis nowhere", "redis: {timeout: 1ms, user: x}\n"},
                    {"redis with a password",
                     "redis: {url: 'rediss://:secret@h', secret: s, secret_file: f, password: p, "
                     "password_file: g,\n  tls: {ca: c, key: k, server_name: n}}\n"},
                    {"empty sections", "fields:\nevents:\npolicies:\n"},
                });
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "config/version.txt",
                                 shown(load_text("a.yaml", "fields: {}\nweir: 1\n")) +
                                     shown(load_text("b.yaml", "weir: 2\n")) +
                                     shown(load_text("c.yaml", "")) +
                                     shown(load_text("d.yaml", "weir: one\n"))),
            "");
}

TEST(Problems, of_fields_events_and_notify) {
  expect_golden(
      "events.txt",
      {
          {"names",
           "fields: {a-b: ip, 1a: ip, ip: header.x, \"\": ip}\nevents: {e-f: {match: GET /}, "
           "request: {match: GET /}, status: {match: GET /}}\n"},
          {"no value", "fields: {a: }\nevents: {e: {match: }}\n"},
          {"match and is", "events: {a: {match: GET /, is: request}, b: {}, c: {when: 'true'}}\n"},
          {"match",
           "events: {a: {match: /x}, b: {match: get /x}, c: {match: GET x}, d: {match: \"GET /a "
           "b\"}, e: {match: GET}}\n"},
          {"match with a query, a scheme or a host",
           "events:\n  a: {match: 'GET /a?x=1&y'}\n  b: {match: GET http://Shop.example:80/a}\n"
           "  c: {match: '* https://*.shop.example/a?x=1'}\n  d: {match: GET shop.example/a}\n"
           "  e: {match: GET //shop.example}\n  f: {match: 'GET /a#b'}\n"},
          {"match with several methods",
           "events:\n  a: {match: GET|POST /x}\n  b: {match: 'GET,POST /x'}\n"
           "  c: {match: 'get, post /x'}\n  d: {match: GET POST /x}\n  e: {match: GET/POST /x}\n"
           "  f: {match: ANY /x}\n  g: {match: get /x}\n  h: {match: PROPFIND /x}\n"},
          {"match with a misspelt method, or with one that is an app's own",
           "events:\n  a: {match: POSTT /x}\n  b: {match: GTE /x}\n  c: {match: PATH /x}\n"
           "  d: {match: DELETS /x}\n  e: {match: OPTION /x}\n"
           "  own: {match: SET /x}\n  read: {match: READ /x}\n  purge: {match: PURGE /x}\n"
           "  query: {match: QUERY /x}\n  get: {match: GET /x}\n"},
          {"match with stars",
           "events:\n  a: {match: GET /a/**}\n  b: {match: GET /a/**/b}\n  c: {match: GET /a/*/b}\n"
           "  d: {match: GET /a/*.php}\n  e: {match: GET /a*}\n  f: {match: 'GET /{id}.json'}\n"
           "  g: {match: 'GET /{id:[0-9]+}'}\n  h: {match: 'GET /{user-id}'}\n  i: {match: 'GET "
           "/{*all}'}\n  j: {match: 'GET /{id}/*'}\n"},
          {"unknown parent", "events: {login: {match: GET /}, a: {is: logn}, b: {is: zzzzzzz}}\n"},
          {"cycle", "events: {a: {is: b}, b: {is: c}, c: {is: a}, d: {is: a}, e: {is: e}}\n"},
          {"source beside others",
           "events: {a: {match: GET /, source: {csv: [ts], time: {field: ts, as: seconds}}}}\n"},
          {"body",
           "events: {a: {match: POST /, body: json}, b: {is: a, body: form}, c: {match: POST /, "
           "body: xml},\n  d: {body: multipart, source: {csv: [ts], time: {field: ts, as: "
           "seconds}}}}\n"},
          {"notify",
           "notify: {a: {}, b: {webhook: ftp://x}, c: {webhook: https:///x}, d: {log: true, "
           "per_minute: 0}, e: {log: \"true\"}}\n"},
      });
}

TEST(Problems, of_sources) {
  expect_golden(
      "sources.txt",
      {
          {"good",
           "events:\n  a: {source: {csv: [user, _, _, ts], header: true, time: {field: ts, as: "
           "seconds}}}\n"
           "  b: {source: {log: '%h - %u %t %m %U', time: {as: '%d/%m/%Y:%H:%M:%S %z'}}}\n"
           "  c: {source: {log: combined}}\n  d: {source: {json: true, time: {field: ts, as: "
           "millis}}}\n"},
          {"no format",
           "events: {a: {source: {}}, b: {source: {csv: [x], log: common}}, c: {source: [x]}}\n"},
          {"no time",
           "events: {a: {source: {csv: [x]}}, b: {source: {json: true, time: {as: seconds}}}, c: "
           "{source: {json: true, time: {field: ts}}}}\n"},
          {"unknown column in time",
           "events: {a: {source: {csv: [user, stamp], time: {field: stmp, as: seconds}}}}\n"},
          {"columns",
           "events: {a: {source: {csv: [1a, x, x, \"\"], time: {field: x, as: seconds}}}}\n"},
          {"forms of time",
           "events:\n  a: {source: {csv: [x], time: {field: x, as: second}}}\n"
           "  b: {source: {csv: [x], time: {field: x, as: '%Y-%m-%d %Q'}}}\n"
           "  c: {source: {csv: [x], time: {field: x, as: '%H:%M'}}}\n"},
          {"formats of logs",
           "events:\n  a: {source: {log: combind}}\n  b: {source: {log: '%h %x %t'}}\n"
           "  c: {source: {log: '%h%l %t'}}\n  d: {source: {log: '%h %m'}}\n"
           "  e: {source: {log: '%h %{day}t'}}\n  f: {source: {log: '%t %s %>s'}}\n"
           "  g: {source: {log: '%t %{a b}i'}}\n  h: {source: {log: '%t %{Referer'}}\n"
           "  i: {source: {log: '%h %{%Y-%Q}t'}}\n"
           "  j: {source: {log: '%h %{sec}t', time: {as: millis}}}\n"},
          {"what does not belong",
           "events:\n  a: {source: {log: common, header: true}}\n"
           "  b: {source: {log: common, time: {field: x}}}\n  c: {source: {json: false, time: "
           "{field: a, as: millis}}}\n"
           "  d: {source: {jsn: true, time: {fild: a, as: millis}}}\n"},
      });
}

TEST(Problems, of_lists_and_tables) {
  expect_golden(
      "lists.txt",
      {
          {"required", "lists: {a: {}, b: {of: ip}, c: {kind: gray}}\n"},
          {"kind", "lists: {a: {of: ip, kind: grey}}\n"},
          {"a rung on a list whose kind is not known",
           "lists: {a: {of: ip}, b: {of: ip, kind: grey}}\npolicies:\n  - {name: p, watch: "
           "request, key: ip, window: 1m, then: [{over: 1, do: graylist, for: 1h, list: b}, "
           "{over: 2, do: deny, for: 1h, list: a}]}\n"},
          {"allow of a client's field",
           "lists: {a: {of: user, kind: allow}, b: {of: user, kind: allow, trusted: "
           "true}, c: {of: [ip, user], kind: allow}}\n"},
          {"effects",
           "lists: {a: {of: ip, kind: allow, effect: flag}, b: {of: ip, kind: deny, "
           "effect: flag}, c: {of: ip, kind: gray, effect: delay}, d: {of: ip, kind: "
           "gray, effect: graylist}, e: {of: ip, kind: gray, hold: 1s}}\n"},
          {"entries",
           "lists:\n  a: {of: ip, kind: deny, entries: [10.0.0.1/8, 10.0.0, fe80::1/10, "
           "x, {key: 10.0.0.1, until: 2027-02-30}, {key: 10.0.0.1, until: soon}, {why: "
           "x}, {key: 1.1.1.1, whi: x}]}\n"},
          {"parts of entries",
           "lists: {a: {of: [user, ip], kind: gray, entries: [alice, [alice, 10.0.0.1], "
           "[alice, x], [a, 10.0.0.1, c]]}}\n"},
          {"max and status",
           "lists: {a: {of: ip, kind: deny, max: 1, entries: [10.0.0.1, 10.0.0.2]}, b: "
           "{of: ip, kind: deny, status: 200}, c: {of: ip, kind: deny, max: 0}}\n"},
          {"status and tell without a refusal",
           "lists: {a: {of: ip, kind: allow, status: 429, tell: full}, b: {of: ip, kind: gray, "
           "status: 429}, c: {of: ip, kind: gray, effect: delay, hold: 1s, tell: retry}, d: {of: "
           "ip, kind: gray, effect: challenge, status: 401, tell: full}}\n"},
          {"share and release",
           "lists: {a: {of: ip, kind: gray, share: redis, release: x}, b: {of: ip, kind: gray, "
           "share: {redis: {sync: 1s}}}}\n"},
          {"table shapes",
           "tables: {a: {by: os}, b: {values: {\"*\": 1}}, c: {by: os, values: 5}, d: "
           "{by: os, values: {a: {b: 1}}}, e: {by: os, values: {}}, f: {by: os, values: "
           "{a: lots, b: unlimited, c: }}, g: {by: os, file: x.csv}}\n"},
      });
}

TEST(Problems, of_policies) {
  expect_golden_policies(
      "policies.txt",
      {
          {"no window", "    then: [{over: 5, do: flag}]\n"},
          {"metric without window", "    metric: count\n    then: [{if: 'true', do: flag}]\n"},
          {"a plain rule is whole", "    then: [{if: path == '/x', do: deny}]\n"},
          {"a rule's rung without if", "    then: [{do: deny}]\n"},
          {"duration without unit",
           "    window: 10\n    then: [{over: 5, do: graylist, for: 15}]\n"},
          {"hold without an action",
           "    window: 10m\n    then: [{over: 5, score: 10, hold: 2s}]\n"},
          {"estimates",
           "    metric: sum(response.body.n)\n    reserve: '-5'\n    window: 10m\n    then: "
           "[{over: 5, do: deny}]\n"},
          {"an estimate over the limit",
           "    metric: sum(response.body.n)\n    reserve: '500'\n    window: 10m\n    then: "
           "[{over: 5, do: flag}, "
           "{at: 500, do: deny}, {over: 500, do: deny}]\n"},
          {"an estimate over a limit that refuses none, or not all",
           "    metric: sum(response.body.n)\n    reserve: '500'\n    window: 10m\n    then: "
           "[{over: 500, do: deny}, {over: 5, mode: shadow, do: deny}, {over: 5, do: "
           "challenge}]\n"},
          {"durations",
           "    window: 10min\n    then: [{over: 5, do: graylist, for: 1m1h}, {over: 6, do: "
           "graylist, for: soon}, {over: 7, do: deny, for: 99999d}]\n"},
          {"window ranges", "    window: 32d\n    then: [{over: 5, do: flag, in: 0s}]\n"},
          {"window shapes",
           "    window: {last: 10m, every: 1h}\n    then: [{over: 5, in: {buckets: 5}, do: flag}, "
           "{over: 5, in: {every: 1h, buckets: 5}, do: flag}, {over: 5, in: {last: 1h, from: "
           "first}, do: flag}, {over: 5, in: {last: 1h, exact: true, buckets: 2}, do: flag}, "
           "{over: 5, in: {last: 10ms, buckets: 60}, do: flag}, {over: 5, in: [], do: flag}]\n"},
          {"beyond what the metric can be",
           "    window: 10m\n    metric: exists(ip)\n    then: [{over: 1, do: flag}, {at: 2, do: "
           "flag}, {over: 0, do: flag}]\n"},
          {"beyond the bucket",
           "    window: {leaky: 2, drain: 5s}\n    then: [{over: 2, do: flag}, {at: 3, do: flag}, "
           "{over: 3, do: flag}, {at: 4, do: flag}]\n"},
          {"beyond what is emptied",
           "    window: 10m\n    then: [{at: 3, do: flag, clear: true}, {over: 5, do: deny}]\n"},
          {"emptied in shadow",
           "    window: 10m\n    then: [{at: 3, do: flag, clear: true, mode: shadow}, {over: 5, "
           "do: "
           "deny}]\n"},
          {"under nothing",
           "    window: 10m\n    then: [{under: 0, do: flag}, {under: 1, do: flag}]\n"},
          {"buckets", "    window: {last: 10m, buckets: 3601}\n    then: [{over: 5, do: flag}]\n"},
          {"later windows",
           "    window: {calendar: day, tz: Asia/Shanghai}\n    then: [{over: 5, do: flag, in: "
           "{events: 20}}, {over: 5, do: flag, in: {leaky: 5, drain: 10s}}, {over: 5, do: flag, "
           "in: {last: 1h, hop: 5m}}]\n"},
          {"metrics", "    metric: cuont\n    window: 10m\n    then: [{over: 5, do: flag}]\n"},
          {"sum without a field",
           "    metric: sum\n    window: 10m\n    then: [{over: 5, do: flag}]\n"},
          {"sum of two",
           "    metric: sum(a, b)\n    window: 10m\n    then: [{over: 5, do: flag}]\n"},
          {"count of something",
           "    metric: count(a)\n    window: 10m\n    then: [{over: 5, do: flag}]\n"},
          {"brackets of a metric",
           "    metric: sum((a)\n    window: 10m\n    then: [{over: 5, do: flag}]\n"},
          {"later metrics",
           "    metric: avg(gold)\n    window: 10m\n    then: [{over: 5, do: flag}]\n"},
          {"in_flight with a window",
           "    metric: in_flight\n    window: 10m\n    then: [{over: 5, do: deny}]\n"},
          {"in_flight", "    metric: in_flight\n    then: [{over: 5, do: deny}]\n"},
          {"later keys",
           "    window: 10m\n    then: [{over: 5, do: flag}]\n    "
           "metrics: {}\n "
           "   version: 2\n"},
          {"retain shorter than the window",
           "    window: 10m\n    retain: 5m\n    then: [{over: 5, do: flag}]\n"},
          {"retain shorter than a window of a rung",
           "    window: 10m\n    retain: 30m\n    then: [{over: 5, in: 1h, do: flag}]\n"},
          {"retain of what does not trail",
           "    window: {every: 1h}\n    retain: 24h\n    then: [{over: 5, do: flag}]\n"},
          {"late by the wall clock",
           "    window: 10m\n    late: 1m\n    then: [{over: 5, do: flag}]\n"},
          {"late by a wall clock that is named",
           "    window: 10m\n    clock: wall\n    late: 1m\n    then: [{over: 5, do: flag}]\n"},
          {"late, and how",
           "    window: 10m\n    clock: event\n    late: 1m\n    then: [{over: 5, do: flag}]\n"},
          {"late for too long",
           "    window: 10m\n    clock: event\n    late: 2d\n    then: [{over: 5, do: flag}]\n"},
          {"no such clock",
           "    window: 10m\n    clock: events\n    then: [{over: 5, do: flag}]\n"},
          {"events' times for a leaky bucket",
           "    window: {leaky: 5, drain: 1s}\n    clock: event\n    then: [{do: deny}]\n"},
          {"events' times for windows from the first",
           "    window: {every: 1h, from: first}\n    clock: event\n    then: [{over: 5, do: "
           "flag}]\n"},
          {"events' times for a rung's leaky bucket",
           "    window: 10m\n    clock: event\n    then: [{over: 5, in: {every: 1h, from: first}, "
           "do: flag}]\n"},
          {"events' times in flight",
           "    metric: in_flight\n    clock: event\n    then: [{over: 5, do: deny}]\n"},
          {"events' times for nothing", "    clock: event\n    then: [{if: 'true', do: flag}]\n"},
          {"events' times and retain",
           "    window: 10m\n    clock: event\n    retain: 1h\n    then: [{over: 5, do: flag}]\n"},
          {"retain without a window", "    retain: 24h\n    then: [{if: 'true', do: flag}]\n"},
          {"retain for too long",
           "    window: 10m\n    retain: 32d\n    then: [{over: 5, do: flag}]\n"},
          {"more than is retained",
           "    window: 10m\n    retain: 24h\n    then: [{over: 5000, do: flag}]\n"},
          {"a radius and a cell",
           "    key: {near: {lon: a, lat: b, radius: 5m, cell: 6}}\n    window: 10m\n    then: "
           "[{over: 5, do: flag}]\n"},
          {"neither radius nor cell",
           "    key: {near: {lon, lat}}\n    window: 10m\n    then: [{over: 5, do: flag}]\n"},
          {"a radius too small",
           "    key: {near: {lon, lat, radius: 0.5m}}\n    window: 10m\n"
           "    then: [{over: 5, do: flag}]\n"},
          {"a radius without a unit",
           "    key: {near: {lon, lat, radius: 500}}\n    window: 10m\n"
           "    then: [{over: 5, do: flag}]\n"},
          {"a window that a radius cannot have",
           "    key: [a, {near: {lon, lat, radius: 5m}}]\n    window: {every: 1h}\n    then: "
           "[{over: 5, in: {events: 9}, do: flag}]\n"},
          {"a metric that a radius cannot have",
           "    key: {near: {lon, lat, radius: 5km}}\n    metric: last(a)\n    window: 10m\n    "
           "then: [{if: 'value == 1', do: flag}]\n"},
          {"metrics that a radius cannot have",
           "    key: {near: {lon, lat, radius: 5km}}\n    keep: 20000\n    metrics: {n: {watch: a, "
           "window: "
           "{every: 1h}}}\n    then: [{if: n > 5, do: flag}]\n"},
          {"a list of places",
           "    key: {near: {lon, lat, radius: 1km}}\n    window: 10m\n    then: [{over: 5, do: "
           "graylist, for: 1h}]\n"},
          {"more near a place than is kept",
           "    key: {near: {lon, lat, radius: 1km}}\n    window: 10m\n    then: [{over: 5000, do: "
           "flag}]\n"},
          {"keys",
           "    key: [user, ip/99999, 'int(x)', user, ip/24,56]\n    window: 10m\n    then: "
           "[{over: 5, do: flag}]\n"},
          {"masks", "    key: ip/24,129\n    window: 10m\n    then: [{over: 5, do: flag}]\n"},
          {"keep and keys",
           "    keep: 0\n    keys: 0\n    window: 10m\n    then: [{over: 5, do: flag}]\n"},
          {"choices",
           "    mode: shadw\n    charge: allways\n    missing: deni\n    announce: 1\n    window: "
           "10m\n    then: [{over: 5, do: flag, mode: x, tell: all}]\n"},
          {"unknown names",
           "    guard: chekout\n    reset: login\n    window: 10m\n    then: [{over: 5, do: "
           "graylist, for: 1m, list: gray, notify: ops}]\n"},
          {"an empty then", "    window: 10m\n    then: []\n"},
          {"a then that is a map", "    window: 10m\n    then: {over: 5, do: flag}\n"},
      });
}

TEST(Problems, of_patterns) {
  const std::string head =
      "events: {a: {match: GET /a}, b: {match: GET /b}, c: {is: a, when: status == 200}}\n"
      "notify: {ops: {log: true}}\npolicies:\n  - name: p\n    ";
  const std::vector<Mistake> patterns = {
      {"whole",
       "sequence: [a, {event: b, when: x}, a]\n    within: 1m\n    strict: true\n    "
       "among: [c]\n    overlap: false\n    then: [{do: flag}]"},
      {"neither watch nor pattern", "then: [{if: x, do: flag}]"},
      {"retain", "sequence: [a, b]\n    within: 1m\n    retain: 1h\n    then: [{do: flag}]"},
      {"events' times",
       "sequence: [a, b]\n    within: 1m\n    clock: event\n    then: [{do: flag}]"},
      {"a radius",
       "sequence: [a, b]\n    within: 1m\n    key: {near: {lon, lat, radius: 1km}}\n    then: "
       "[{do: flag}]"},
      {"no within", "sequence: [a, b]\n    then: [{do: flag}]"},
      {"one step", "sequence: [a]\n    within: 1m\n    then: [{do: flag}]"},
      {"nine steps",
       "sequence: [a, a, a, a, a, a, a, a, a]\n    within: 1m\n    then: [{do: flag}]"},
      {"a name alone", "sequence: a\n    within: 1m\n    then: [{do: flag}]"},
      {"a pair of three", "pair: [a, b, c]\n    then: [{do: flag}]"},
      {"a pair of equals", "pair: [a, a]\n    then: [{do: flag}]"},
      {"equals that are told apart",
       "pair: [a, {event: a, when: x}]\n    within: 5s\n    then: [{do: flag}]"},
      {"both", "sequence: [a, b]\n    pair: [a, b]\n    within: 1m\n    then: [{do: flag}]"},
      {"unknown events",
       "sequence: [a, bb, cc]\n    within: 1m\n    strict: true\n    among: [d]\n    then: [{do: "
       "flag}]"},
      {"a misspelt step key",
       "sequence: [{event: a, whn: x}, {when: x}]\n    within: 1m\n    then: [{do: flag}]"},
      {"no in the middle", "sequence: [no a, b]\n    within: 1m\n    then: [{do: flag}]"},
      {"no after two", "sequence: [a, b, no c]\n    within: 1m\n    then: [{notify: ops}]"},
      {"no in a pair", "pair: [a, no b]\n    within: 1m\n    then: [{notify: ops}]"},
      {"words of patterns without one",
       "watch: a\n    within: 1m\n    strict: true\n    among: b\n    overlap: true\n    then: "
       "[{if: x, do: flag}]"},
      {"words that do not go with one",
       "sequence: [a, b]\n    within: 1m\n    watch: a\n    metric: count\n    window: 1m\n    "
       "reset: b\n    keys: 5\n    guard: a\n    then: [{do: flag}]"},
      {"words of sequences with others",
       "sequence: [a, no b]\n    within: 1m\n    strict: true\n    among: b\n    overlap: "
       "false\n    then: [{notify: ops}]"},
      {"among without strict",
       "sequence: [a, b]\n    within: 1m\n    among: c\n    then: [{do: flag}]"},
      {"both sides of a sequence",
       "sequence: [a, b]\n    within: {before: 1s}\n    then: [{do: flag}]"},
      {"sides of a pair",
       "pair: [a, b]\n    within: {befor: 1s, after: 40d}\n    then: [{do: flag}]"},
      {"thresholds",
       "sequence: [a, b]\n    within: 1m\n    then: [{over: 5, do: flag}, {do: flag, in: 1h}, {do: "
       "flag, clear: true}, {do: deny, for: window}]"},
      {"what an absence can do",
       "sequence: [a, no b]\n    within: 1m\n    then: [{do: flag}, {do: deny}, {do: graylist, "
       "for: "
       "1m}, {do: deny, for: 1m}, {notify: ops}, {notify: ops, score: 5}, {notify: ops, if: x}]"},
  };
  std::vector<std::string> texts;
  for (const Mistake& c : patterns) texts.push_back(head + std::string(c.text) + "\n");
  std::vector<Mistake> cases;
  for (std::size_t i = 0; i < patterns.size(); ++i) cases.push_back({patterns[i].name, texts[i]});
  expect_golden("patterns.txt", cases);
}

}  // namespace
}  // namespace weir::config::problems_test
