// The meaning for a policy of a request that is unreadable, or that applications read differently:
// in every place that may read a field, for every place where the field may be.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/policies/world.h"

namespace weir::policies::unread_request_test {
namespace {

/// A field in a request, in a form whose reading is in doubt; `clean`: as all applications read
/// it.
struct Source {
  std::string name, field;
  int status;
  std::function<TestRequest(const std::string& path)> unread;
  std::function<TestRequest(const std::string& path, const std::string& value)> clean;
};

TestRequest with_type(const std::string& line, const std::string& type, const std::string& body) {
  return TestRequest(line).header("Content-Type", type).body(body);
}

std::vector<Source> sources() {
  const std::string form = "application/x-www-form-urlencoded";
  const auto part = [](const std::string& value) {
    return "--b\r\nContent-Disposition: form-data; name=\"kind\"\r\n\r\n" + value + "\r\n";
  };
  const std::string multipart = "multipart/form-data; boundary=b";
  const auto json = [](const std::string& path, const std::string& value) {
    return TestRequest("POST " + path).json("{\"kind\":\"" + value + "\"}");
  };
  const auto query = [](const std::string& path, const std::string& value) {
    return TestRequest("POST " + path + "?kind=" + value);
  };
  return {
      {"a parameter twice", "query.kind", 400,
       [](const auto& path) { return TestRequest("POST " + path + "?kind=gold&kind=7"); }, query},
      {"a parameter of broken escapes", "query.kind", 400,
       [](const auto& path) { return TestRequest("POST " + path + "?kind=%zz"); }, query},
      {"a header twice", "header.x_kind", 400,
       [](const auto& path) {
         return TestRequest("POST " + path).header("X-Kind", "7").header("x_kind", "gold");
       },
       [](const auto& path, const auto& value) {
         return TestRequest("POST " + path).header("X-Kind", value);
       }},
      {"a cookie twice", "cookie.kind", 400,
       [](const auto& path) {
         return TestRequest("POST " + path).header("Cookie", "kind=7; kind=gold");
       },
       [](const auto& path, const auto& value) {
         return TestRequest("POST " + path).header("Cookie", "kind=" + value);
       }},
      {"two spellings in JSON", "body.kind", 400,
       [](const auto& path) {
         return TestRequest("POST " + path).json(R"({"kind":"7","KIND":"gold"})");
       },
       json},
      {"broken JSON", "body.kind", 400,
       [](const auto& path) { return TestRequest("POST " + path).json(R"({"kind":"gold",})"); },
       json},
      {"JSON as text", "body.kind", 400,
       [](const auto& path) {
         return with_type("POST " + path, "text/plain", R"({"kind":"gold"})");
       },
       json},
      {"another charset", "body.kind", 400,
       [](const auto& path) {
         return with_type("POST " + path, "application/json; charset=utf-7", R"({"kind":"gold"})");
       },
       json},
      {"a form with the field twice", "body.kind", 400,
       [=](const auto& path) { return with_type("POST " + path, form, "kind=7&kind=gold"); },
       [=](const auto& path, const auto& value) {
         return with_type("POST " + path, form, "kind=" + value);
       }},
      {"multipart with the field twice", "body.kind", 400,
       [=](const auto& path) {
         return with_type("POST " + path, multipart, part("7") + part("gold") + "--b--\r\n");
       },
       [=](const auto& path, const auto& value) {
         return with_type("POST " + path, multipart, part(value) + "--b--\r\n");
       }},
      {"a body that is too large", "body.kind", 413,
       [](const auto& path) {
         return TestRequest("POST " + path).json("{}").body_state(BodyState::too_large);
       },
       json},
      {"an encoded body", "body.kind", 415,
       [](const auto& path) {
         return TestRequest("POST " + path).json("{}").body_state(BodyState::encoded);
       },
       json},
  };
}

/// A place in a file where policy `p` reads the field KIND, and refuses or flags (DO).
struct Place {
  std::string name, yaml;
  bool by_rung = false;  // refused by the rung itself
  bool may_skip = true;  // a policy that only flags follows `missing`
};

std::vector<Place> places() {
  const std::string event = "events: {buy: {match: 'POST /buy'}}\n";
  const std::string head = event + "policies: [{name: p, watch: buy, key: ip, window: 1h, ";
  const std::string rung = "then: [{at: 1, DO}], MORE}]\n";
  return {
      {"when", head + "when: 'KIND == \"gold\"', " + rung},
      {"when not", head + "when: '!(KIND == \"silver\")', " + rung},
      {"when other", head + "when: 'KIND != \"silver\"', " + rung},
      {"when one of", head + "when: 'KIND in [\"gold\", \"silver\"]', " + rung},
      {"when it is there", head + "when: 'has(KIND)', " + rung},
      {"when it is null", head + "when: 'KIND == null || KIND == \"gold\"', " + rung},
      {"when of a field", "fields: {kind: 'KIND'}\n" + head + "when: 'kind == \"gold\"', " + rung},
      {"when of a computed field",
       "fields: {kind: 'string(KIND)'}\n" + head + "when: 'kind.startsWith(\"gold\")', " + rung},
      {"when beside what holds", head + "when: 'method == \"POST\" && KIND == \"gold\"', " + rung},
      {"an event's when",
       "events: {buy: {match: 'POST /buy'}, gold: {is: buy, when: 'KIND == \"gold\"'}}\n"
       "policies: [{name: p, watch: gold, key: ip, window: 1h, " +
           rung},
      {"an event's parent's when",
       "events: {buy: {match: 'POST /buy'}, gold: {is: buy, when: 'KIND == \"gold\"'}, "
       "much: {is: gold, when: 'method == \"POST\"'}}\n"
       "policies: [{name: p, watch: much, key: ip, window: 1h, " +
           rung},
      {"when of two events",
       "events: {buy: {match: 'POST /buy'}, sell: {match: 'POST /sell'}, gold: {is: buy, when: "
       "'KIND == \"gold\"'}}\n"
       "policies: [{name: p, watch: [sell, gold], key: ip, window: 1h, " +
           rung},
      {"a key", event + "policies: [{name: p, watch: buy, key: KEY, window: 1h, " + rung},
      {"an amount", head + "metric: 'sum(int(string(KIND)))', " + rung},
      {"a member", head + "metric: 'distinct(KIND)', " + rung},
      {"a metric's when",
       event + "policies: [{name: p, watch: buy, key: ip, metrics: {x: {watch: buy, when: 'KIND == "
               "\"gold\"', window: 1h}}, then: [{if: 'x >= 1', DO}], MORE}]\n",
       false, false},
  };
}

std::string replaced(std::string text, const std::string& word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    text.replace(at, word.size(), by);
  return text;
}

std::string yaml_of(const Place& place, const Source& source, const std::string& action,
                    const std::string& more) {
  std::string yaml = replaced(place.yaml, "DO", action);
  yaml = replaced(yaml, ", MORE", more.empty() ? "" : ", " + more);
  if (yaml.find("KEY") != std::string::npos) {
    yaml = "fields: {kind: 'KIND'}\n" + replaced(yaml, "KEY", "kind");
  }
  return replaced(yaml, "KIND", source.field);
}

std::string said(const Place& place, const Source& source) {
  return place.name + ", " + source.name;
}

TEST(UnreadRequest, is_refused_by_a_policy_that_refuses_wherever_it_reads_the_field) {
  for (const Source& source : sources()) {
    for (const Place& place : places()) {
      World world(yaml_of(place, source, "do: deny, tell: full", ""));
      const World::Judged judged = world.judge(source.unread("/buy"));
      const std::string where = said(place, source);
      EXPECT_EQ(judged.effect, "defect") << where;
      EXPECT_EQ(judged.status, source.status) << where;
      EXPECT_NE(judged.body.find("\"policy\":\"p"), std::string::npos) << where << judged.body;
      EXPECT_NE(judged.body.find("\"field\":\""), std::string::npos) << where << judged.body;
      EXPECT_EQ(world.stats.totals("policy", place.may_skip ? "p" : "p.x").verdicts[5], 1U)
          << where;
      // A field that all applications read alike is judged as always.
      if (place.name == "an amount") continue;
      EXPECT_EQ(world.judge(source.clean("/buy", "gold")).effect, "deny") << where;
    }
  }
}

TEST(UnreadRequest, is_no_matter_to_other_requests) {
  for (const Source& source : sources()) {
    for (const Place& place : places()) {
      World world(yaml_of(place, source, "do: deny", ""));
      EXPECT_EQ(world.judge(source.unread("/other")).effect, "pass") << said(place, source);
    }
    // A condition that something else decides does not ask.
    World world("policies: [{name: p, watch: request, when: 'path == \"/buy\" && " + source.field +
                " == \"gold\"', key: ip, window: 1h, then: [{at: 1, do: deny}]}]\n");
    EXPECT_EQ(world.judge(source.unread("/other")).effect, "pass") << source.name;
    EXPECT_EQ(world.judge(source.unread("/buy")).effect, "defect") << source.name;
  }
}

TEST(UnreadRequest, passes_shadow_mode_which_counts_that_it_would_be_refused) {
  for (const Source& source : sources()) {
    for (const Place& place : places()) {
      const std::string where = said(place, source);
      const std::string name = place.may_skip ? "p" : "p.x";
      World policy(yaml_of(place, source, "do: deny", "mode: shadow"));
      EXPECT_EQ(policy.judge(source.unread("/buy")).effect, "pass") << where;
      EXPECT_EQ(policy.stats.totals("policy", name).shadows[5], 1U) << where;
      World rung(yaml_of(place, source, "do: deny, mode: shadow", ""));
      EXPECT_EQ(rung.judge(source.unread("/buy")).effect, "pass") << where;
      EXPECT_EQ(rung.stats.totals("policy", name).shadows[5], 1U) << where;
    }
  }
}

TEST(UnreadRequest, follows_missing_where_a_policy_only_flags) {
  for (const Source& source : sources()) {
    for (const Place& place : places()) {
      if (!place.may_skip) continue;
      const std::string where = said(place, source);
      World skips(yaml_of(place, source, "do: flag", ""));
      EXPECT_EQ(skips.judge(source.unread("/buy")).effect, "pass") << where;
      EXPECT_EQ(skips.stats.totals("policy", "p").missing, 1U) << where;
      World denies(yaml_of(place, source, "do: flag", "missing: deny"));
      EXPECT_EQ(denies.judge(source.unread("/buy")).status, 403) << where;
      if (place.name == "an amount" || place.name == "a member") continue;  // nothing to count
      World counts(yaml_of(place, source, "do: flag", "missing: same"));
      EXPECT_EQ(counts.judge(source.unread("/buy")).effect, "flag") << where;
    }
  }
}

TEST(UnreadRequest, is_no_way_around_a_limit_that_hangs_on_it) {
  for (const Source& source : sources()) {
    const std::string fields = "fields: {kind: 'string(" + source.field + ")'}\n";
    const std::string events = "events: {buy: {match: 'POST /buy'}}\n";
    const std::string head = "policies: [{name: p, watch: buy, key: ip, window: 1h, then: [{at: ";
    for (const std::string& yaml :
         {fields + events + "tables: {t: {by: kind, values: {gold: 1, silver: 5}}}\n" + head +
              "t, do: deny}]}]\n",
          fields + events + "tables: {t: {by: kind, values: {gold: 1, '*': 5}}}\n" + head +
              "t, do: deny}]}]\n",
          fields + events + head + "'kind == \"gold\" ? 1 : 5', do: deny}]}]\n"}) {
      World world(yaml);
      EXPECT_EQ(world.judge(source.unread("/buy")).effect, "defect") << source.name << yaml;
      EXPECT_EQ(world.judge(source.clean("/buy", "gold")).effect, "deny") << source.name << yaml;
    }
  }
}

TEST(UnreadRequest, is_no_matter_where_the_table_has_the_limit_without_it) {
  World world(
      "events: {buy: {match: 'POST /buy', fields: {app: query.app, os: query.os}}}\n"
      "tables: {t: {by: [app, os], values: {baidu: {ios: 1, '*': 5}, toutiao: 5, sina: {'*': "
      "5}}}}\n"
      "policies: [{name: p, watch: buy, key: ip, window: 1h, then: [{over: t, do: deny}]}]\n");
  const auto effect = [&](const char* query) {
    return world.judge(TestRequest(std::string("POST /buy?") + query)).effect;
  };
  EXPECT_EQ(effect("app=baidu&os=a&os=b"), "defect");
  EXPECT_EQ(effect("app=a&app=b&os=a"), "defect");
  EXPECT_EQ(effect("app=toutiao&os=a&os=b"), "pass") << "5, whatever os is";
  EXPECT_EQ(effect("app=sina&os=a&os=b"), "pass") << "5 as well";
  EXPECT_EQ(effect("app=other&os=a&os=b"), "pass") << "none, whatever os is";
  EXPECT_EQ(effect("app=baidu"), "pass") << "what is not there is not unreadable";
}

// Long values may fill the memory of an expression. That is no way around a condition either.
TEST(UnreadRequest, is_what_takes_more_memory_than_an_expression_may) {
  std::string filling = "KIND";  // each step takes 400,000 of the 4 MiB
  for (int k = 0; k < 6; ++k) filling += ".upperAscii().lowerAscii()";
  for (const std::string& value : {std::string("KIND + KIND"), filling}) {
    for (const Place& place : places()) {
      if (place.yaml.find("KEY") == std::string::npos && place.name != "when" &&
          place.name != "when not" && place.name != "an event's when" &&
          place.name != "a metric's when")
        continue;
      const std::string where = place.name + value;
      const Source costly{"costly", replaced(value, "KIND", "body.kind"), 413, {}, {}};
      const std::string body = "{\"kind\":\"" + std::string(400'000, 'x') + "\"}";
      const auto request = [&] { return TestRequest("POST /buy").json(body); };
      World denies(yaml_of(place, costly, "do: deny, tell: full", ""));
      const World::Judged judged = denies.judge(request());
      EXPECT_EQ(judged.effect, "defect") << where;
      EXPECT_EQ(judged.status, 413) << where;
      EXPECT_NE(judged.body.find("larger than it may be here"), std::string::npos) << judged.body;
      EXPECT_NE(judged.body.find("\"field\":\""), std::string::npos) << judged.body;
      if (!place.may_skip) continue;
      World shadow(yaml_of(place, costly, "do: deny", "mode: shadow"));
      EXPECT_EQ(shadow.judge(request()).effect, "pass") << where;
      EXPECT_EQ(shadow.stats.totals("policy", "p").shadows[5], 1U) << where;
      World skips(yaml_of(place, costly, "do: flag", ""));
      EXPECT_EQ(skips.judge(request()).effect, "pass") << where;
      EXPECT_EQ(skips.stats.totals("policy", "p").missing, 1U) << where;
      World refuses(yaml_of(place, costly, "do: flag", "missing: deny"));
      EXPECT_EQ(refuses.judge(request()).status, 403) << where;
      World counts(yaml_of(place, costly, "do: flag", "missing: same"));
      EXPECT_EQ(counts.judge(request()).effect, "flag") << where;
    }
  }
}

TEST(UnreadRequest, is_an_answer_that_takes_more_memory_than_an_expression_may) {
  const auto count_after = [](const char* missing) {
    World world(
        std::string("policies: [{name: p, watch: request, key: ip, window: 1h, missing: ") +
        missing +
        ", when: 'response.body.a + response.body.a == \"x\"', then: [{at: 2, do: flag}]}]\n");
    const World::Judged first = world.judge(TestRequest("POST /buy"));
    world.answer(*first.judgement, 200, "{\"a\":\"" + std::string(400'000, 'x') + "\"}");
    return world.judge(TestRequest("POST /buy")).effect;
  };
  EXPECT_EQ(count_after("skip"), "pass");
  EXPECT_EQ(count_after("same"), "flag");
}

// An application may convert a list or an object to the text that a list or a table names.
TEST(UnreadRequest, is_a_list_in_json_where_a_text_is_asked_for) {
  const std::string head =
      "events: {buy: {match: 'POST /buy', fields: {kind: body.kind}}}\n"
      "tables: {t: {by: kind, values: {gold: 1, '*': 1000}}}\n"
      "lists: {bad: {of: body.kind, kind: deny, entries: [evil]}}\n";
  const std::string policy = "policies: [{name: p, watch: buy, key: ip, window: 1h, then: ";
  World table(head + policy + "[{over: t, do: deny}]}]\n");
  World list(head + policy + "[{over: 1000, do: deny}]}]\n");
  for (const char* kind : {R"(["gold"])", R"({"a":"gold"})", R"(["evil"])", "[]"}) {
    TestRequest request = TestRequest("POST /buy").json(std::string("{\"kind\":") + kind + "}");
    EXPECT_EQ(table.judge(request).status, 400) << kind;
    EXPECT_EQ(list.judge(request).status, 400) << kind;
  }
  EXPECT_EQ(list.judge(TestRequest("POST /buy").json(R"({"kind":"gold"})")).effect, "pass");
  EXPECT_EQ(list.judge(TestRequest("POST /buy").json(R"({"kind":"evil"})")).effect, "deny");
}

// The same where a function takes a text, in every expression: used directly, not as a field.
TEST(UnreadRequest, is_a_list_in_json_where_a_function_takes_a_text) {
  const std::string buy = "events: {buy: {match: 'POST /buy', body: json}";
  const std::string table = "tables: {t: {by: kind, values: {gold: 1, '*': 1000}}}\n";
  const std::string head = "policies: [{name: p, watch: buy, key: ip, window: 1h, ";
  const std::string deny = "then: [{at: 1, do: deny}]}]\n";
  const std::string test = "'string(body.kind) == \"gold\"'";
  const std::pair<const char*, std::string> places[] = {
      {"when", buy + "}\n" + head + "when: " + test + ", " + deny},
      {"when of an event", buy + ", gold: {is: buy, when: " + test + "}}\n" +
                               "policies: [{name: p, watch: gold, key: ip, window: 1h, " + deny},
      {"when of a metric", buy +
                               "}\npolicies: [{name: p, watch: buy, key: ip, metrics: {x: {watch: "
                               "buy, when: " +
                               test + ", window: 1h}}, then: [{if: 'x >= 1', do: deny}]}]\n"},
      {"a limit",
       buy + "}\n" + table + head + "then: [{at: 'lookup(\"t\", body.kind)', do: deny}]}]\n"},
      {"when with a table",
       buy + "}\n" + table + head + "when: 'lookup(\"t\", body.kind) == 1', " + deny},
      {"a list", buy + "}\nlists: {l: {of: body.kind, kind: gray, entries: [gold]}}\n" + head +
                     "when: 'inList(\"l\", body.kind)', " + deny},
  };
  for (const auto& [place, yaml] : places) {
    for (const char* kind : {R"(["gold"])", R"({"a":"gold"})", "[]"}) {
      World world(yaml);
      EXPECT_EQ(
          world.judge(TestRequest("POST /buy").json(std::string("{\"kind\":") + kind + "}")).status,
          400)
          << place << kind;
    }
    World world(yaml);
    EXPECT_EQ(world.judge(TestRequest("POST /buy").json(R"({"kind":"iron"})")).effect, "pass")
        << place;
    EXPECT_EQ(world.judge(TestRequest("POST /buy").json("{}")).effect, "pass") << place;
    const World::Judged judged = world.judge(TestRequest("POST /buy").json(R"({"kind":"gold"})"));
    EXPECT_TRUE(judged.effect == "deny" || judged.effect == "flag") << place << judged.effect;
  }
  World rung(buy + "}\n" + table +
             "policies: [{name: p, watch: buy, then: [{if: 'lookup(\"t\", body.kind) == 1', do: "
             "deny, status: 451}]}]\n");
  EXPECT_EQ(rung.judge(TestRequest("POST /buy").json(R"({"kind":["gold"]})")).status, 451);
  // A limit that the table does not have is no doubt about the value.
  World open(
      "events: {buy: {match: 'POST /buy', body: json}}\n"
      "tables: {t: {by: kind, values: {gold: 1}}}\n" +
      head + "then: [{at: 'lookup(\"t\", body.kind)', do: deny}]}]\n");
  EXPECT_EQ(open.judge(TestRequest("POST /buy").json(R"({"kind":5})")).effect, "pass");
}

TEST(UnreadRequest, is_no_way_around_the_if_of_a_rung_that_refuses) {
  for (const Source& source : sources()) {
    const auto rung = [&](const std::string& more) {
      return "policies: [{name: p, watch: request, then: [{if: '" + source.field +
             " == \"gold\"', " + more + "}]}]\n";
    };
    World denies(rung("do: deny, status: 451"));
    EXPECT_EQ(denies.judge(source.unread("/")).status, 451) << source.name;
    World flags(rung("do: flag"));
    EXPECT_EQ(flags.judge(source.unread("/")).effect, "pass") << source.name;
    World shadow(rung("do: deny, mode: shadow"));
    EXPECT_EQ(shadow.judge(source.unread("/")).effect, "pass") << source.name;
    EXPECT_EQ(shadow.stats.totals("policy", "p").shadows[5], 1U) << source.name;
  }
}

TEST(UnreadRequest, is_no_way_past_a_list_that_refuses) {
  for (const Source& source : sources()) {
    const auto list = [&](const std::string& kind, const std::string& entries) {
      return "fields: {kind: '" + source.field + "'}\nlists: {l: {of: kind, " + kind +
             ", entries: [" + entries + "]}}\n";
    };
    World denies(list("kind: deny, tell: full", "gold"));
    const World::Judged judged = denies.judge(source.unread("/"));
    EXPECT_EQ(judged.effect, "defect") << source.name;
    EXPECT_EQ(judged.status, source.status) << source.name;
    EXPECT_NE(judged.body.find("\"list\":\"l\""), std::string::npos) << judged.body;
    EXPECT_EQ(denies.judge(source.clean("/", "7")).effect, "pass") << source.name;
    World empty(list("kind: deny", ""));
    EXPECT_EQ(empty.judge(source.unread("/")).effect, "pass") << source.name;
    World gray(list("kind: gray", "gold"));
    EXPECT_EQ(gray.judge(source.unread("/")).effect, "pass") << source.name;
    World allows(list("kind: allow, trusted: true", "gold") +
                 "policies: [{name: p, watch: request, key: ip, window: 1h, then: [{at: 1, do: "
                 "deny}]}]\n");
    EXPECT_EQ(allows.judge(source.unread("/")).effect, "deny") << source.name;
  }
}

TEST(UnreadRequest, is_guarded_by_a_policy_that_guards_what_it_may_be) {
  for (const Source& source : sources()) {
    World world(
        "events: {buy: {match: 'POST /buy'}, gold: {is: buy, when: '" + source.field +
        " == \"gold\"'}, try: {match: 'POST /try'}}\n"
        "policies: [{name: p, watch: try, guard: gold, key: ip, window: 1h, then: [{at: 1, do: "
        "deny}]}]\n");
    EXPECT_EQ(world.judge(source.unread("/buy")).effect, "pass") << source.name;
    EXPECT_EQ(world.send(TestRequest("POST /try")), "pass") << source.name;
    EXPECT_EQ(world.judge(source.unread("/buy")).effect, "deny") << source.name;
    EXPECT_EQ(world.judge(source.clean("/buy", "7")).effect, "pass") << source.name;
  }
}

TEST(UnreadRequest, counts_at_the_answer_where_the_condition_hangs_on_it) {
  for (const Source& source : sources()) {
    for (const bool refuses : {true, false}) {
      World world("events: {buy: {match: 'POST /buy'}, bad: {is: buy, when: 'status == 401 && " +
                  source.field +
                  " == \"gold\"'}}\n"
                  "policies: [{name: p, watch: bad, key: ip, window: 1h, then: [{at: 2, do: " +
                  (refuses ? "deny" : "flag") + "}]}]\n");
      EXPECT_EQ(world.send(source.unread("/buy"), 200), "pass") << source.name;
      EXPECT_EQ(world.send(source.unread("/buy"), 200), "pass") << source.name;
      EXPECT_EQ(world.send(source.unread("/buy"), 401), "pass") << source.name;
      const char* const then = refuses ? "deny" : "pass";
      EXPECT_EQ(world.send(source.unread("/buy"), 401), then) << source.name;
    }
  }
}

// Both policies count the same event, and so share one counter.
TEST(UnreadRequest, counts_at_the_answer_also_where_a_policy_that_flags_shares_the_counter) {
  for (const Source& source : sources()) {
    for (const bool flag_first : {true, false}) {
      const std::string head =
          "events: {buy: {match: 'POST /buy'}, bad: {is: buy, when: 'status == 401 && " +
          source.field + " == \"gold\"'}}\npolicies:\n";
      const std::string rest = ", watch: bad, key: ip, window: 1h, then: [{";
      const std::string flags = "  - {name: flags" + rest + "over: 1, do: flag}]}\n";
      const std::string denies = "  - {name: denies" + rest + "at: 2, do: deny}]}\n";
      World world(head + (flag_first ? flags + denies : denies + flags));
      world.send(source.unread("/buy"), 401);
      EXPECT_EQ(world.send(source.unread("/buy"), 401), "deny") << source.name << flag_first;
    }
  }
}

TEST(UnreadRequest, reserves_no_less_for_an_estimate_that_cannot_be_read) {
  for (const Source& source : sources()) {
    World world(
        "events: {ask: {match: 'POST /ask', fields: {n: 'int(string(" + source.field +
        "))'}}}\n"
        "policies: [{name: p, watch: ask, key: ip, metric: 'sum(response.body.usage)', reserve: "
        "n, missing: same, window: 1h, then: [{over: 100, do: deny}]}]\n");
    EXPECT_EQ(world.judge(source.unread("/ask")).effect, "defect") << source.name;
    EXPECT_EQ(world.judge(source.clean("/ask", "7")).effect, "pass") << source.name;
  }
}

/// Node trims a byte 0xA0 off, CherryPy decodes RFC 2047.
TEST(UnreadRequest, is_a_header_of_a_key_that_applications_decode_in_different_ways) {
  const auto policy = [](const std::string& field, const std::string& rest) {
    return "events: {buy: {match: 'POST /buy', fields: {user: '" + field +
           "'}}}\n"
           "policies: [{name: p, watch: buy, window: 1h, missing: skip, then: [{over: 100, do: "
           "deny}], " +
           rest + "}]\n";
  };
  const auto with = [](const std::string& user) {
    return TestRequest("POST /buy").header("X-User", user);
  };
  const std::string odd[] = {"alice\xa0", "al\xe9 x",
                             "=?utf-8?q?=61lice?=", "=?UTF-8?B?YWxpY2U=?=", "=? =?x?Q?alice?= x"};
  const std::string even[] = {
      "alice", "", "zo\xc3\xab", "a =? b?=", "=?utf-8?q?alice", "?q?alice", "YQ==", "=?a?x?b?="};
  for (const std::string& yaml :
       {policy("header.x_user", "key: user"), policy("header.x_user", "key: [ip, user]"),
        policy("header.x_user.trim()", "key: user"),
        policy("header.x_user.lowerAscii()", "key: [user, ip]"),
        policy("header.x_user", "key: ip, metric: distinct(user)"),
        policy("header.x_user", "key: ip") + "lists: {l: {of: header.x_user, kind: deny, entries: "
                                             "[eve]}}\n"}) {
    World world(yaml);
    for (const std::string& user : odd) {
      TestRequest request = with(user);
      EXPECT_EQ(world.judge(request).status, 400) << yaml << user;
    }
    for (const std::string& user : even) {
      TestRequest request = with(user);
      EXPECT_EQ(world.judge(request).effect, "pass") << yaml << user;
    }
    TestRequest none("POST /buy");
    EXPECT_EQ(world.judge(none).effect, "pass") << yaml;
  }
  // A condition reads the bytes as they are, and a body may hold such a text.
  World condition(policy("header.x_user", "key: ip, when: 'user != \"eve\"'"));
  for (const std::string& user : odd) {
    TestRequest request = with(user);
    EXPECT_EQ(condition.judge(request).effect, "pass") << user;
  }
  World body(policy("body.user", "key: user"));
  TestRequest json = TestRequest("POST /buy").json(R"({"user":"=?utf-8?q?alice?="})");
  EXPECT_EQ(body.judge(json).effect, "pass");
}

/// PHP, JavaScript, Java and Python read numbers where int() and double() read none.
TEST(UnreadRequest, is_a_text_that_an_application_may_read_as_a_number) {
  const auto policy = [](const std::string& field, const std::string& action) {
    return "events: {buy: {match: 'POST /buy', fields: {gold: '" + field +
           "'}}}\n"
           "policies: [{name: p, watch: buy, key: ip, metric: sum(gold), window: 1h, then: [{over: "
           "100, do: " +
           action + "}]}]\n";
  };
  const auto json = [](const std::string& text) {
    return TestRequest("POST /buy").json("{\"gold\": \"" + text + "\"}");
  };
  const auto query = [](const std::string& text) { return TestRequest("POST /buy?gold=" + text); };
  const auto header = [](const std::string& text) {
    return TestRequest("POST /buy").header("X-Gold", text);
  };
  World by_body(policy("int(body.gold)", "deny"));
  World by_query(policy("int(query.gold)", "deny"));
  World by_header(policy("int(header.x_gold)", "deny"));
  World by_double(policy("double(body.gold)", "deny"));
  World that_flags(policy("int(body.gold)", "flag"));
  for (const std::string text : {"100000.5", "1e9", "5x", "0x10", "-5.5", ".5", "Infinity", "-inf",
                                 "NaN", "9223372036854775808", "\xef\xbc\x95"}) {
    EXPECT_EQ(by_body.judge(json(text)).effect, "defect") << text;
    EXPECT_EQ(by_query.judge(query(text)).effect, "defect") << text;
    EXPECT_EQ(by_header.judge(header(text)).effect, "defect") << text;
    EXPECT_EQ(that_flags.judge(json(text)).effect, "pass") << text;
  }
  for (const std::string text : {" 5", "5 ", "\\t5"}) {
    EXPECT_EQ(by_body.judge(json(text)).effect, "defect") << text;
    EXPECT_EQ(by_double.judge(json(text)).effect, "defect") << text;
  }
  for (const std::string text : {"", "abc", "-", "none", "x5", "5"}) {
    EXPECT_EQ(by_body.judge(json(text)).effect, "pass") << text;
    EXPECT_EQ(by_query.judge(query(text)).effect, "pass") << text;
    EXPECT_EQ(by_header.judge(header(text)).effect, "pass") << text;
  }
}

}  // namespace
}  // namespace weir::policies::unread_request_test
