#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/support/configuration.h"

/// Mistakes of people who are new to the language, and the messages: the place, the
/// error, and the correction.
namespace weir::app::newcomer_texts_test {
namespace {

struct Case {
  std::string text;
  std::string said;  ///< `LINE:COLUMN message | hint`, a line for each error
};

std::string said_of(const std::string& text) {
  const Configuration made = compile(config::load_text("weir.yaml", "weir: 1\n" + text));
  std::string out;
  for (const config::Problem& problem : made.loaded.problems.all()) {
    if (problem.severity != config::Problem::Severity::error) continue;
    if (!out.empty()) out += "\n";
    out += std::to_string(problem.where.line) + ":" + std::to_string(problem.where.column) + " " +
           problem.message + (problem.hint.empty() ? "" : " | " + problem.hint);
  }
  return out;
}

void expect_all(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(said_of(c.text), c.said) << c.text;
}

/// A policy in one line, which is complete with the given parts.
std::string policy(const std::string& parts) { return "policies:\n- {name: p, " + parts + "}\n"; }
std::string watching(const std::string& watch) {
  return policy(watch + ", key: ip, window: 1m, then: [{over: 5, do: deny}]");
}
std::string keyed(const std::string& key) {
  return policy(key + ", watch: request, window: 1m, then: [{over: 5, do: deny}]");
}
std::string rung(const std::string& rung) {
  return policy("then: [{" + rung + "}], watch: request, key: ip, window: 1m");
}
std::string then(const std::string& then) {
  return policy(then + ", watch: request, key: ip, window: 1m");
}
std::string windowed(const std::string& window) {
  return policy("window: " + window + ", watch: request, key: ip, then: [{over: 5, do: deny}]");
}

TEST(NewcomerTexts, WhatAPolicyWatches) {
  expect_all({
      {watching("watch: {match: POST /login}"),
       "3:21 \"match\" belongs in an event, which a policy names | write events: {my_event: "
       "{match: "
       "POST /login}}, and watch: my_event"},
      {watching("watch: POST /login"),
       "3:20 there is no event \"POST /login\" | an event has the route: events: {my_event: "
       "{match: "
       "POST /login}}; then write my_event here"},
      {watching("watch: /login"),
       "3:20 there is no event \"/login\" | an event has the route: events: {my_event: {match: \"* "
       "/login\"}}; then write my_event here"},
      {watching("watch: '*'"),
       "3:20 there is no event \"*\" | write request, which is every HTTP request"},
      {"events: {e: {match: [POST /a, GET /b]}}\n",
       "2:21 \"match\" is one method and route, not a list | write an event for each: a: {match: "
       "POST /a}, b: {match: GET /b}; a policy may watch several: watch: [a, b]"},
      {"events: {e: {match: {method: post, path: /a}}}\n",
       "2:21 \"match\" is a method and a route in one text, not a map | write match: POST /a"},
      {"events: {e: {match: GET /a/**}}\n",
       "2:21 \"**\" is not a segment of a route | write *: at the end it stands for everything "
       "below"},
  });
}

TEST(NewcomerTexts, Keys) {
  expect_all({
      {keyed("key: X-Forwarded-For"),
       "3:18 this is a subtraction: a name has no \"-\" in it | for the client's address write ip; "
       "proxy.client_ip says which proxies name it in a header"},
      {keyed("key: X-Device-Id"),
       "3:18 this is a subtraction: a name has no \"-\" in it | for a header write "
       "header.x_device_id; "
       "for "
       "a cookie cookie[\"X-Device-Id\"]"},
      {keyed("key: [ip, header.X-Device]"),
       "3:23 this is a subtraction: a name has no \"-\" in it | write header.x_device: _ stands "
       "for -"},
      {keyed("key: {header: X-Device}"),
       "3:18 a part of a key is a field, not a map or list | write key: header.x_device"},
      {keyed("key: ip + path"), "3:18 \"ip + path\" is not a field | write key: [ip, path]"},
      {keyed("key: '$remote_addr'"), "3:18 \"$remote_addr\" is not a field | write ip"},
  });
}

TEST(NewcomerTexts, CharactersThatLookLikeOthers) {
  expect_all({
      {"policies\xef\xbc\x9a\n  - name: p\n",
       "2:9 this is a full-width colon (U+FF1A): YAML reads it as an ordinary character | write "
       "\":\""},
      {rung("over: 5\xef\xbc\x8c do: deny"),
       "3:28 this is a full-width comma (U+FF0C): YAML reads it as an ordinary character | write "
       "\",\""},
  });
}

TEST(NewcomerTexts, Thresholds) {
  expect_all({
      {rung("over: 20/m, do: deny"),
       "3:30 field \"m\" is not provided by event \"request\" | a rate is a threshold over a "
       "window: "
       "write over: 20, in: 1m"},
      {rung("over: '>20', do: deny"),
       "3:27 \">20\" is not a threshold | the key says how it is compared: write over: 20"},
      {rung("over: '<= 20', do: deny"),
       "3:27 \"<= 20\" is not a threshold | the key says how it is compared: write at: 20"},
      {rung("over: 1k, do: deny"), "3:27 \"1k\" is not a threshold | write 1000"},
      {rung("over: 1_000, do: deny"), "3:27 \"1_000\" is not a threshold | write 1000"},
      {rung("over: inf, do: deny"),
       "3:27 field \"inf\" is not provided by event \"request\" | for no limit leave out the rung, "
       "and in a table write unlimited"},
      {"tables: {t: {by: path, values: {/a: inf, /b: .inf, /c: nan, '*': 5}}}\n",
       "2:37 \"inf\" is not a number | for no limit write unlimited\n"
       "2:46 \".inf\" is not a number | for no limit write unlimited\n"
       "2:56 \"nan\" is not a number"},
      {windowed("20/m"),
       "3:21 \"20/m\" is a rate, and a window is a time | write window: 1m, then: [{over: 20, do: "
       "deny}]; or, for a steady pace, window: {rate: 20/m, burst: 20}"},
  });
}

TEST(NewcomerTexts, Rungs) {
  expect_all({
      {then("then: {over: 5, do: deny}"),
       "3:19 \"then\" must be a list of rungs | write then: [{over: 5, do: deny}], also of one "
       "rung"},
      {then("then: {5: flag, 10: deny}"),
       "3:19 \"then\" must be a list of rungs | write then: [{over: 5, do: flag}, {over: 10, do: "
       "deny}], also of one rung"},
      {then("then: deny"),
       "3:19 \"then\" must be a list of rungs | write then: [{over: 100, do: deny}], also of one "
       "rung"},
      {then("then: [{over: 5, do: flag}], then: [{over: 9, do: deny}]"),
       "3:42 duplicate key \"then\" | the first one is at line 3: put the items of both into one "
       "list"},
      {rung("over: 5, do: [flag, deny]"),
       "3:34 a rung does one thing | write a rung for each, with a threshold of its own"},
      {rung("over: 5, do: deny, for: forever"),
       "3:45 \"forever\" is not a duration | a duration has an end: write a length such as 30d; "
       "entries "
       "of a list may have none"},
      {windowed("60"),
       "3:21 duration \"60\" has no unit | write 60s or 60m; units are ms, s, m, h and d"},
      {windowed("1hour"), "3:21 \"1hour\" is not a duration | did you mean \"1h\"?"},
      {policy("watch: request, key: ip, metric: distinct user, window: 1m, then: [{over: 5, do: "
              "deny}]"),
       "3:46 \"distinct user\" is not a metric | write distinct(user)"},
      {policy("watch: request, key: ip, share: true, window: 1m, then: [{over: 5, do: deny}]"),
       "3:45 invalid value \"true\" for \"share\"; allowed: local, redis | write redis"},
  });
}

TEST(NewcomerTexts, TimeZones) {
  const auto zone = [](const std::string& name) {
    return windowed("{calendar: day, tz: '" + name + "'}");
  };
  expect_all({
      {zone("CST"),
       "3:41 \"CST\" is not a time zone | CST is the time of China, Chicago or Cuba: write "
       "Asia/Shanghai, America/Chicago ..."},
      {zone("+08:00"),
       "3:41 \"+08:00\" is not a time zone | write Asia/Shanghai, or \"Etc/GMT-8\", which is +8 h: "
       "its "
       "sign is the other way round"},
      {zone("UTC-5"),
       "3:41 \"UTC-5\" is not a time zone | write a place such as Asia/Shanghai, or \"Etc/GMT+5\", "
       "which "
       "is -5 h: its sign is the other way round"},
      {zone("Asia/Beijing"), "3:41 \"Asia/Beijing\" is not a time zone | write Asia/Shanghai"},
      {zone("local"),
       "3:41 \"local\" is not a time zone | write the zone's name, such as Asia/Shanghai: a "
       "configuration means the same on every machine"},
      {zone("+05:30"),
       "3:41 \"+05:30\" is not a time zone | write a name of the IANA database (tzdata), such as "
       "Asia/Shanghai or UTC"},
  });
}

TEST(NewcomerTexts, Sections) {
  expect_all({
      {"policies:\n  per-ip: {watch: request}\n",
       "3:3 \"policies\" must be a list | begin each policy with - name: per-ip"},
      {"policies:\n  name: p\n  watch: request\n",
       "3:3 \"policies\" must be a list | begin each policy with - name: ..."},
      {"admin: {listen: 8481}\n",
       "2:17 \"8481\" is not an address to listen on | write 127.0.0.1:8481 for this machine "
       "alone, "
       "0.0.0.0:8481 for all addresses"},
      {"proxy: {listen: '*:8480', upstream: 'http://a'}\n",
       "2:17 \"*:8480\" is not an address to listen on | write 0.0.0.0:8480 for all addresses"},
      {"health: {listen: 'http://127.0.0.1:8482/'}\n",
       "2:18 \"http://127.0.0.1:8482/\" is not an address to listen on | write 127.0.0.1:8482"},
      {"api: {listen: 127.0.0.1}\n",
       "2:15 \"127.0.0.1\" is not an address to listen on | add the port: 127.0.0.1:8480"},
      {"grpc: {listen: weir:8483}\n",
       "2:16 \"weir:8483\" is not an address to listen on | a name is not an address: write "
       "127.0.0.1:8483 "
       "for this machine alone, 0.0.0.0:8483 for all addresses"},
      {"admin: {listen: /run/weir.sock}\n",
       "2:17 \"/run/weir.sock\" is not an address to listen on | write unix:/run/weir.sock"},
      {"admin: {port: 8481}\n",
       "2:9 unknown key \"port\" in \"admin\" | write listen: 127.0.0.1:8481"},
      {"admin: 127.0.0.1:8481\n",
       "2:8 \"admin\" must be a map of keys and values, not a text | write admin: {listen: "
       "127.0.0.1:8481}"},
      {"proxy: {upstream: 127.0.0.1:3000}\n",
       "2:19 \"127.0.0.1:3000\" is not an upstream | write http://127.0.0.1:3000"},
      {"proxy: {upstream: 3000}\n",
       "2:19 \"3000\" is not an upstream | write http://127.0.0.1:3000"},
      {"proxy: {upstream: 'http://app:3000/api'}\n",
       "2:19 an upstream has no path | write http://app:3000; weir sends the path that the client "
       "asks for"},
      {"redis: {url: 127.0.0.1:6379}\n",
       "2:14 this is not a URL of a Redis server: it begins with redis://, rediss:// or unix:// | "
       "write redis://127.0.0.1:6379, or redis://HOST:PORT/DB"},
      {"redis: redis://127.0.0.1:6379\n",
       "2:8 \"redis\" must be a map of keys and values, not a text | write redis: {url: "
       "'redis://127.0.0.1:6379'}"},
      {"policies:\n- &a {name: p, watch: request, key: ip, window: 1m, then: [{over: 5, do: "
       "flag}]}\n- {<<: *a, name: q}\n",
       "4:4 merge keys (<<) are not used here | write the keys out: \"defaults\" has what all "
       "policies share, and an alias (*name) stands for a whole value"},
      {policy("watch: request, on: redis, key: ip, window: 1m, then: [{over: 5, do: deny}]"),
       "3:29 bare \"on\" is a boolean to some YAML readers and a text to others | write true, or "
       "quote it as \"on\"\n"
       "3:29 unknown key \"on\" in a policy | the event belongs in watch: login; counters of all "
       "replicas are share: redis"},
  });
}

TEST(NewcomerTexts, TheFirstLine) {
  const Configuration made = compile(config::load_text("weir.yaml", "policies: []\n"));
  ASSERT_EQ(made.loaded.problems.all().size(), 1U);
  EXPECT_EQ(made.loaded.problems.all()[0].hint,
            "write weir: 1 as the first line: the version of the language");
}

}  // namespace
}  // namespace weir::app::newcomer_texts_test
